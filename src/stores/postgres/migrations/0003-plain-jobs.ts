/**
 * Writes of plain jobs, see `0001-jobs.ts`: what the jobs of a call share is written once per call, and no row is
 * updated but that of a claim. Each is one commit, and takes its turn. `@schema@` is the quoted name of the schema.
 */

const settings = `SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET lock_timeout = '5s'`

export const plainJobs = `
-- Fails in a schema that was made before there were releases, which has no such table.
SELECT FROM @schema@.waiting LIMIT 0;

-- New jobs. "docs": a line for each. "base" is null, and nothing written, if an id is taken or there is no room.
CREATE FUNCTION @schema@.insert_plain(
  log_max bigint, now bigint, ids text[], types text[], docs text, tags text[], room_types text[], rooms bigint[],
  entry text, move_types text[], move_growth int[], move_body text
) RETURNS TABLE (base bigint, unfolded bigint) LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
BEGIN
  PERFORM @schema@.take_turn();
  IF EXISTS (SELECT FROM @schema@.jobs j WHERE j.id = ANY(ids)) OR (rooms <> '{}' AND @schema@.lacks_room(room_types, rooms)) THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_base := coalesce((SELECT max(l.last) FROM @schema@.log l), 0) + 1;
  WITH born AS MATERIALIZED (SELECT v_base - 1 + u.number AS seq, u.*
    FROM unnest(ids, types, string_to_array(docs, E'\\n'), tags) WITH ORDINALITY AS u(id, type, doc, tags, number)),
  waits AS (INSERT INTO @schema@.waiting (type, job) SELECT b.type, b.seq FROM born b),
  logged AS (INSERT INTO @schema@.log (last, ids, types, entry)
    VALUES (v_base + cardinality(ids) - 1, insert_plain.ids, insert_plain.types, insert_plain.entry))
  INSERT INTO @schema@.jobs (id, plain, type, seq, enqueued_at, tags, doc)
    SELECT b.id, true, b.type, b.seq, now, b.tags::text[], b.doc FROM born b;
  unfolded := @schema@.finish(log_max, v_base, cardinality(ids), move_types, move_growth, move_body);
  base := v_base;
  RETURN NEXT;
END $$;

-- Claims the first jobs of each type, in the order of the types. "fronts": jobs with a lower number do not wait any
-- more. Of types in "others" there may be more to claim, or a reason for there being less, that this does not judge.
-- "move" and "counted": what a claim is in the figures.
CREATE FUNCTION @schema@.claim_plain(
  log_max bigint, now bigint, of_types text[], most int[], fronts bigint[], token text, worker text, wake_at bigint,
  attempts text, entry text, move text, counted text
) RETURNS TABLE (base bigint, unfolded bigint, claim bigint, others text[], ids text, types text, numbers text, docs text)
LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
  v_jobs bigint[];
  v_ids text[];
  v_types text[];
  v_at bigint[];
BEGIN
  PERFORM @schema@.take_turn();
  -- Before a job that is a document comes what has a lower place.
  WITH wanted AS MATERIALIZED (
    SELECT w.*, CASE
        WHEN EXISTS (SELECT FROM @schema@.cells c WHERE c.kind = 'claims' AND c.field = w.type)
          OR EXISTS (SELECT FROM @schema@.cells c WHERE c.kind = 'paused' AND c.field = w.type AND c.value = '1')
          OR EXISTS (SELECT FROM @schema@.jobs j WHERE j.state = 'queued' AND j.type = w.type AND j.concurrency > '')
        THEN 0
        ELSE (SELECT CASE sign(j.priority) WHEN 1 THEN 0 WHEN 0 THEN j.place END FROM @schema@.jobs j
          WHERE j.state = 'queued' AND j.type = w.type AND j.concurrency = '' ORDER BY j.priority DESC, j.place LIMIT 1)
      END AS ending,
      EXISTS (SELECT FROM @schema@.jobs j WHERE j.state = 'queued' AND j.type = w.type) AS has_others
    FROM unnest(of_types, most, fronts) WITH ORDINALITY AS w(type, most, front, number)),
  took AS MATERIALIZED (SELECT q.tid FROM wanted w CROSS JOIN LATERAL (
    SELECT q.ctid AS tid FROM @schema@.waiting q
    WHERE q.type = w.type AND q.job >= w.front AND q.job < coalesce(w.ending, 9223372036854775807)
    ORDER BY q.job LIMIT w.most FOR UPDATE SKIP LOCKED) q),
  gone AS (DELETE FROM @schema@.waiting q WHERE q.ctid = ANY(ARRAY(SELECT took.tid FROM took))
    RETURNING q.type, q.job),
  got AS MATERIALIZED (SELECT j.seq, j.id, j.type, j.doc, j.enqueued_at FROM gone g JOIN @schema@.jobs j ON j.seq = g.job),
  sorted AS MATERIALIZED (SELECT g.* FROM got g ORDER BY array_position(of_types, g.type), g.seq)
  SELECT (SELECT array_agg(w.type) FROM wanted w WHERE w.ending = 0
      OR (w.has_others AND (SELECT count(*) FROM got WHERE got.type = w.type) < w.most)),
    array_agg(s.seq), array_agg(s.id), array_agg(s.type), array_agg(s.enqueued_at), string_agg(s.doc, E'\\n')
    INTO others, v_jobs, v_ids, v_types, v_at, docs FROM sorted s;
  IF v_jobs IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_base := coalesce((SELECT max(l.last) FROM @schema@.log l), 0) + 1;
  WITH logged AS (INSERT INTO @schema@.log (last, ids, types, entry)
    VALUES (v_base + cardinality(v_ids) - 1, v_ids, v_types, claim_plain.entry))
  INSERT INTO @schema@.claims AS c (rev, first, at, wake_at, jobs, token, worker, attempts)
    VALUES (2, v_base, now, claim_plain.wake_at, v_jobs, claim_plain.token, claim_plain.worker, claim_plain.attempts)
    RETURNING c.claim INTO claim;
  SELECT @schema@.finish(log_max, v_base, cardinality(v_ids), array_agg(m.type), array_agg(-m.n), '{"now":' || now
      || ',"failures":[],"outcomes":[],"paused":[],"moves":['
      || string_agg('{"type":' || to_json(m.type) || ',"n":' || m.n || ',' || move || '}', ',') || '],"activity":['
      || string_agg('{"type":' || to_json(m.type) || ',"n":' || m.n || ',"ms":' || m.ms || ',"counted":' || counted
      || '}', ',') || ']}')
    INTO unfolded
    FROM (SELECT u.type, count(*)::int AS n, sum(greatest(0, now - u.at)) AS ms FROM unnest(v_types, v_at) AS u(type, at)
      GROUP BY u.type) m;
  base := v_base;
  ids := array_to_string(v_ids, E'\\n');
  types := array_to_string(v_types, E'\\n');
  numbers := array_to_string(v_jobs || v_at, ' ');
  RETURN NEXT;
END $$;

-- Jobs of open claims complete: in the order of the claims. "base" is null, and nothing written, if one of them is not
-- in its claim any more, or a transaction of a user is to be carried out first. "outputs": a line for each.
CREATE FUNCTION @schema@.complete_plain(
  log_max bigint, now bigint, claims bigint[], tokens text[], jobs bigint[], of_claims bigint[], turns int[],
  ids text[], types text[], outputs text, max_attempts int[], entry text, move_types text[], move_body text
) RETURNS TABLE (base bigint, unfolded bigint) LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
  v_claim bigint;
  v_open bigint[];
BEGIN
  PERFORM @schema@.take_turn();
  IF EXISTS (SELECT FROM @schema@.cells c WHERE c.kind = 'fences')
    OR cardinality(claims) > cardinality(ARRAY(SELECT c.claim FROM unnest(complete_plain.claims, tokens) AS k(claim, token)
      JOIN @schema@.claims c ON c.claim = k.claim AND c.token = k.token FOR UPDATE OF c SKIP LOCKED))
    OR EXISTS (SELECT FROM unnest(complete_plain.jobs, of_claims, turns) AS u(job, claim, turn)
      JOIN @schema@.claims c ON c.claim = u.claim WHERE c.jobs[u.turn] <> u.job) THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_base := coalesce((SELECT max(l.last) FROM @schema@.log l), 0) + 1;
  INSERT INTO @schema@.completions (type, job, claimed, ended, started_at, finished_at, rev, max_attempts, token, worker,
    output)
    SELECT u.type, u.job, c.first + u.turn - 1, v_base + u.number - 1, c.at, now, c.rev + 1, u.max_attempts, c.token,
      c.worker, nullif(u.output, '')
    FROM unnest(types, complete_plain.jobs, of_claims, turns, complete_plain.max_attempts,
      string_to_array(outputs, E'\\n')) WITH ORDINALITY AS u(type, job, claim, turn, max_attempts, output, number)
    JOIN @schema@.claims c ON c.claim = u.claim;
  FOREACH v_claim IN ARRAY claims LOOP
    SELECT c.jobs INTO v_open FROM @schema@.claims c WHERE c.claim = v_claim;
    FOR i IN 1 .. cardinality(turns) LOOP
      IF of_claims[i] = v_claim THEN v_open[turns[i]] := 0; END IF;
    END LOOP;
    IF 0 = ALL(v_open) THEN DELETE FROM @schema@.claims c WHERE c.claim = v_claim;
    ELSE UPDATE @schema@.claims c SET jobs = v_open WHERE c.claim = v_claim;
    END IF;
  END LOOP;
  INSERT INTO @schema@.log (last, ids, types, entry)
    VALUES (v_base + cardinality(ids) - 1, complete_plain.ids, complete_plain.types, complete_plain.entry);
  unfolded := @schema@.finish(log_max, v_base, cardinality(ids), move_types, array_fill(0, ARRAY[cardinality(move_types)]),
    move_body);
  base := v_base;
  RETURN NEXT;
END $$;

-- Removes jobs that have completed by the transitions of these numbers. "removed": their own numbers, without those
-- that are documents, or that somebody else holds.
CREATE FUNCTION @schema@.remove_plain(log_max bigint, now bigint, types text[], jobs bigint[], ended bigint[], move text)
RETURNS TABLE (base bigint, unfolded bigint, removed text) LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
  v_jobs bigint[];
BEGIN
  PERFORM @schema@.take_turn();
  v_jobs := ARRAY(SELECT j.seq FROM unnest(types, remove_plain.jobs, remove_plain.ended) AS u(type, job, ended)
    JOIN @schema@.completions d ON d.type = u.type AND d.job = u.job AND d.ended = u.ended
    JOIN @schema@.jobs j ON j.seq = u.job FOR UPDATE OF j SKIP LOCKED);
  IF v_jobs = '{}' THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_base := coalesce((SELECT max(l.last) FROM @schema@.log l), 0) + 1;
  WITH gone AS (DELETE FROM @schema@.completions d USING @schema@.jobs j
    WHERE j.seq = ANY(v_jobs) AND d.type = j.type AND d.job = j.seq RETURNING d.type),
  counted AS (SELECT g.type, count(*)::int AS n FROM gone g GROUP BY g.type)
  SELECT @schema@.finish(log_max, v_base, 0, array_agg(c.type), array_agg(0), '{"now":' || now
      || ',"failures":[],"outcomes":[],"paused":[],"activity":[],"moves":['
      || string_agg('{"type":' || to_json(c.type) || ',"n":' || c.n || ',' || move || '}', ',') || ']}')
    INTO unfolded FROM counted c;
  DELETE FROM @schema@.jobs j WHERE j.seq = ANY(v_jobs);
  base := v_base;
  removed := array_to_string(v_jobs, ' ');
  RETURN NEXT;
END $$;

-- Extends the lease of the jobs of claims that are named. Other jobs of these claims keep the lease that they have, in
-- a claim of their own. Returns the jobs of which the lease was extended.
CREATE FUNCTION @schema@.extend_plain(claims bigint[], tokens text[], named bigint[], wake_at bigint) RETURNS bigint[]
LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_claims bigint[];
  v_extended bigint[];
BEGIN
  PERFORM @schema@.take_turn();
  v_claims := ARRAY(SELECT c.claim FROM unnest(extend_plain.claims, tokens) AS k(claim, token)
    JOIN @schema@.claims c ON c.claim = k.claim AND c.token = k.token WHERE c.jobs && named
    FOR UPDATE OF c SKIP LOCKED);
  INSERT INTO @schema@.claims (rev, first, at, wake_at, jobs, token, worker, attempts)
    SELECT c.rev, c.first, c.at, c.wake_at, ARRAY(SELECT CASE WHEN o.job = ANY(named) THEN 0 ELSE o.job END
        FROM unnest(c.jobs) WITH ORDINALITY AS o(job, turn) ORDER BY o.turn), c.token, c.worker, c.attempts
    FROM @schema@.claims c WHERE c.claim = ANY(v_claims) AND NOT (c.jobs <@ (named || 0::bigint));
  WITH extended AS (UPDATE @schema@.claims c SET rev = c.rev + 1, wake_at = extend_plain.wake_at,
      jobs = ARRAY(SELECT CASE WHEN o.job = ANY(named) THEN o.job ELSE 0 END
        FROM unnest(c.jobs) WITH ORDINALITY AS o(job, turn) ORDER BY o.turn)
    WHERE c.claim = ANY(v_claims) RETURNING c.jobs)
  SELECT array_agg(o.job) INTO v_extended FROM extended e CROSS JOIN LATERAL unnest(e.jobs) AS o(job) WHERE o.job > 0;
  RETURN v_extended;
END $$;

-- Jobs of which something cannot be read, as the view "standing" had them: nothing finds them but their ids.
CREATE TABLE @schema@.aside (id text COLLATE "C" NOT NULL, base bigint, doc text NOT NULL, facts text);
`
