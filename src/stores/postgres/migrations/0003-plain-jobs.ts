/**
 * Writes of plain jobs, see `0001-jobs.ts`: what the jobs of a call share is written once per call, and no row is
 * updated but that of a claim. Each is one commit, and takes its turn. `@schema@` is the quoted name of the schema.
 */

/** A row of "completions" has so many jobs at most: a search that begins between two of them has to see it. */
export const endsMax = 200

const settings = `SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET lock_timeout = '5s'`

export const plainJobs = `
-- Fails in a schema that was made before there were releases, which has no such table.
SELECT FROM @schema@.fronts LIMIT 0;

-- "moves", "activity": what plain jobs are in the figures, as JSON with commas between them.
CREATE FUNCTION @schema@.finish_plain(log_max bigint, now bigint, base bigint, numbers int, types text[], growth int[],
  leases int[], moves text, activity text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN @schema@.finish(log_max, base, numbers, types, growth, leases, '{"now":' || now || ',"failures":[],"outcomes":[],'
    || '"paused":[],"moves":[' || moves || '],"activity":[' || activity || ']}');
END $$;

-- New jobs. "ids", "docs": a line for each; "types", "firsts": at which of them each type begins; "terms": of each, if
-- any has some. "base" is null, and nothing written, if an id is taken or there is no room.
CREATE FUNCTION @schema@.insert_plain(
  log_max bigint, now bigint, ids text, types text[], firsts int[], docs text, terms text[], room_types text[], rooms bigint[],
  entry text, move_types text[], move_growth int[], moves text, activity text
) RETURNS TABLE (base bigint, unfolded bigint) LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
  v_ids text[] := string_to_array(ids, E'\\n');
BEGIN
  PERFORM @schema@.take_turn();
  IF EXISTS (SELECT FROM @schema@.jobs j WHERE j.id = ANY(v_ids))
    OR (rooms <> '{}' AND @schema@.lacks_room(room_types, rooms)) THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_base := coalesce((SELECT l.last FROM @schema@.log l ORDER BY l.last DESC LIMIT 1), 0) + 1;
  WITH logged AS (INSERT INTO @schema@.log (last, ids, types, firsts, entry)
    VALUES (v_base + cardinality(v_ids) - 1, v_ids, insert_plain.types, insert_plain.firsts, insert_plain.entry))
  INSERT INTO @schema@.jobs (id, plain, type, seq, enqueued_at, terms, doc)
    SELECT u.id, true, types[width_bucket(u.number::int, firsts)], v_base - 1 + u.number, now, u.terms::text[], u.doc
    FROM unnest(v_ids, string_to_array(docs, E'\\n'), insert_plain.terms)
      WITH ORDINALITY AS u(id, doc, terms, number);
  IF insert_plain.terms <> '{}' THEN
    INSERT INTO @schema@.terms (term, job) SELECT t.term, v_base - 1 + u.number
      FROM unnest(insert_plain.terms) WITH ORDINALITY AS u(terms, number)
      CROSS JOIN LATERAL unnest(u.terms::text[]) AS t(term);
  END IF;
  unfolded := @schema@.finish_plain(log_max, now, v_base, cardinality(v_ids), move_types, move_growth,
    array_fill(0, ARRAY[cardinality(move_types)]), moves, activity);
  base := v_base;
  RETURN NEXT;
END $$;

-- How many jobs of types are leased; null for a type that is null. "known": how many of each were after the move
-- "moves", null: not known. Those of which nothing is known since the figures were written down are counted from there.
CREATE FUNCTION @schema@.leased(of_types text[], moves bigint[], known bigint[]) RETURNS bigint[] LANGUAGE plpgsql STABLE
AS $$
DECLARE
  v_upto bigint := (SELECT f.upto FROM @schema@.folds f WHERE f.one);
BEGIN
  RETURN ARRAY(
    SELECT CASE WHEN w.type IS NOT NULL THEN b.leased + coalesce((SELECT sum(u.leases)
        FROM @schema@.moves m CROSS JOIN LATERAL unnest(m.types, m.leases) AS u(type, leases)
        WHERE m.move > b.upto AND u.type = w.type), 0) END
    FROM unnest(of_types, leased.moves, known) WITH ORDINALITY AS w(type, upto, leased, number)
    CROSS JOIN LATERAL (SELECT CASE WHEN w.upto >= v_upto THEN w.upto ELSE v_upto END AS upto,
      CASE WHEN w.upto >= v_upto THEN w.leased
        ELSE coalesce((SELECT g.leased FROM @schema@.figures g WHERE g.type = w.type), 0) END AS leased) b
    ORDER BY w.number);
END $$;

-- What a worker does in a turn: jobs of open claims complete, in the order of the claims; then the first jobs of each
-- type are claimed, in the order of the types. Either may be empty.
-- Jobs that end are of parts, each of a type and a claim: "of_claims", "end_types", "claim_uptos", "max_attempts", see
-- "completions". "part_firsts": with which job each part begins, from 1. "turns": where each job stands in its claim.
-- "end_ids", "outputs": a line for each; '': no job has an output.
-- "ended" is null, and none of them is written, if one is not in its claim any more, or a transaction of a user is to
-- be carried out first. "end_moves" and "end_activity" are what they are in the figures; "move" and "counted" what a
-- claim is.
-- "caps": how many jobs of each type may be leased, null: any number. "known_leased": how many were after the moves
-- "known_moves", if that is known. "book": what the small value of the claims of a type begins with which tells no more
-- than their number. The core does not commit a claim under a cap that has not counted what was claimed here: the job
-- that it has chosen first is either the first one here, too, or a document that leaves none to be claimed here. So a
-- type with a cap is left to the core while it has a queued document of a priority below 0, which could be chosen there
-- before a plain job comes.
-- Of types in "others" there may be more to claim, or a reason for there being less, that this does not judge. Those in
-- "capped" have more jobs than their cap allows. "leased": how many jobs of each type were after the move "seen".
-- "docs": a line for each; in one of several, which somebody else has written, each line feed becomes a space.
CREATE FUNCTION @schema@.exchange(
  log_max bigint, now bigint,
  claims bigint[], tokens text[], of_claims bigint[], end_types text[], claim_uptos bigint[], max_attempts int[],
  part_firsts int[], turns int[], end_ids text, outputs text, end_entry text, end_moves text, end_activity text,
  of_types text[], most int[], caps int[], known_moves bigint[], known_leased bigint[], book text,
  token text, worker text, wake_at bigint, attempts text, entry text, move text, counted text
) RETURNS TABLE (ended bigint, base bigint, unfolded bigint, claim bigint, others text[], capped text[], seen bigint,
  leased bigint[], ids text, types text[], firsts int[], jobs text, times text, docs text) LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
  v_ends int := 0;
  v_gone int;
  v_outputs text[];
  v_queued bigint;
  v_places bigint[];
  v_endings bigint[];
  v_claimed bigint[];
  v_types text[] := '{}';
  v_growth int[];
  v_leases int[] := '{}';
  v_most int[] := most;
  v_moves text;
  v_activity text;
BEGIN
  PERFORM @schema@.take_turn();
  v_base := coalesce((SELECT l.last FROM @schema@.log l ORDER BY l.last DESC LIMIT 1), 0) + 1;

  IF claims <> '{}' THEN
    v_outputs := CASE WHEN outputs <> '' THEN string_to_array(outputs, E'\\n') END;
    -- One by one: a plan for a table that seems to be empty would read it from its first row on.
    WITH held AS MATERIALIZED (SELECT h.* FROM unnest(exchange.claims, tokens) AS k(claim, token)
      CROSS JOIN LATERAL (SELECT c.* FROM @schema@.claims c WHERE c.claim = k.claim AND c.token = k.token
        FOR UPDATE SKIP LOCKED) h),
    parts AS MATERIALIZED (
      SELECT u.*, coalesce(part_firsts[u.number + 1] - 1, cardinality(turns)) AS last
      FROM unnest(of_claims, end_types, claim_uptos, exchange.max_attempts, part_firsts)
        WITH ORDINALITY AS u(claim, type, upto, max_attempts, first, number)),
    ending AS MATERIALIZED (
      SELECT p.*, h.first AS claimed, h.at, h.rev, h.token, h.worker,
        ARRAY(SELECT h.jobs[t.turn] FROM unnest(turns[p.first:p.last]) AS t(turn)) AS jobs
      FROM parts p JOIN held h ON h.claim = p.claim)
    INSERT INTO @schema@.completions (type, ended, upto, claimed, started_at, finished_at, rev, max_attempts, token, worker,
      jobs, turns, outputs)
      SELECT e.type, v_base + e.first - 1, e.upto, e.claimed, e.at, now, e.rev + 1, e.max_attempts, e.token, e.worker,
        e.jobs, turns[e.first:e.last], v_outputs[e.first:e.last]
      FROM ending e
      WHERE (SELECT count(*) FROM ending WHERE 0 <> ALL(ending.jobs)) = cardinality(of_claims)
        AND NOT EXISTS (SELECT FROM @schema@.cells c WHERE c.kind = 'fences');
    GET DIAGNOSTICS v_ends = ROW_COUNT;
  END IF;
  IF v_ends > 0 THEN
    ended := v_base;
    v_ends := cardinality(turns);
    DELETE FROM @schema@.claims c WHERE c.claim = ANY(claims) AND cardinality(array_remove(c.jobs, 0)) = (
      SELECT sum(coalesce(part_firsts[p.number + 1], v_ends + 1) - p.first)
      FROM unnest(of_claims, part_firsts) WITH ORDINALITY AS p(claim, first, number) WHERE p.claim = c.claim);
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    IF v_gone < cardinality(claims) THEN
      UPDATE @schema@.claims c SET jobs = ARRAY(SELECT CASE WHEN o.turn = ANY(e.turns) THEN 0 ELSE o.job END
          FROM unnest(c.jobs) WITH ORDINALITY AS o(job, turn) ORDER BY o.turn)
        FROM (SELECT p.claim, array_agg(t.turn) AS turns
          FROM unnest(of_claims, part_firsts) WITH ORDINALITY AS p(claim, first, number)
          CROSS JOIN LATERAL unnest(
            exchange.turns[p.first:coalesce(part_firsts[p.number + 1] - 1, v_ends)]) AS t(turn)
          GROUP BY 1) e
        WHERE c.claim = e.claim;
    END IF;
    INSERT INTO @schema@.log (last, ids, types, firsts, entry) VALUES (v_base + v_ends - 1,
      string_to_array(end_ids, E'\\n'), end_types, part_firsts, end_entry);
    SELECT array_agg(p.type), array_agg(p.first - coalesce(part_firsts[p.number + 1], v_ends + 1))
      INTO v_types, v_leases FROM unnest(end_types, part_firsts) WITH ORDINALITY AS p(type, first, number);
    v_moves := end_moves;
    v_activity := end_activity;
  END IF;

  IF caps IS NOT NULL THEN
    leased := @schema@.leased(ARRAY(SELECT CASE WHEN w.cap IS NOT NULL THEN w.type END
      FROM unnest(of_types, caps) WITH ORDINALITY AS w(type, cap, number) ORDER BY w.number), known_moves, known_leased);
    seen := (SELECT m.move FROM @schema@.moves m ORDER BY m.move DESC LIMIT 1);
    v_most := ARRAY(SELECT CASE WHEN w.cap IS NULL THEN w.most
          ELSE greatest(0, least(w.most, w.cap - w.leased - coalesce((SELECT sum(e.leases)
            FROM unnest(v_types, v_leases) AS e(type, leases) WHERE e.type = w.type), 0))) END
      FROM unnest(of_types, most, caps, leased) WITH ORDINALITY AS w(type, most, cap, leased, number) ORDER BY w.number);
  END IF;

  IF of_types <> '{}' THEN
    v_queued := @schema@.queued_from(NULL, v_base - 1);
    IF v_queued IS NOT NULL OR EXISTS (SELECT FROM @schema@.cells c WHERE c.kind IN ('claims', 'paused')) THEN
      -- Before a job that is a document comes what has a lower place.
      SELECT array_agg(d.place ORDER BY w.number), array_agg(CASE
          WHEN EXISTS (SELECT FROM @schema@.cells c WHERE c.kind = 'claims' AND c.field = w.type
              AND NOT starts_with(c.value, book))
            OR EXISTS (SELECT FROM @schema@.cells c WHERE c.kind = 'paused' AND c.field = w.type AND c.value = '1')
            OR EXISTS (SELECT FROM @schema@.jobs j
              WHERE j.state = 'queued' AND j.type = w.type AND j.concurrency > '' AND j.place >= d.place)
          THEN 0
          ELSE (SELECT CASE sign(j.priority) WHEN 1 THEN 0 WHEN 0 THEN j.place ELSE 0 * w.cap END FROM @schema@.jobs j
            WHERE j.state = 'queued' AND j.type = w.type AND j.concurrency = '' AND j.place >= d.place
            ORDER BY j.priority DESC, j.place LIMIT 1)
        END ORDER BY w.number)
        INTO v_places, v_endings FROM unnest(of_types, caps) WITH ORDINALITY AS w(type, cap, number)
        CROSS JOIN LATERAL (
          SELECT CASE WHEN v_queued IS NOT NULL THEN @schema@.queued_from(w.type, v_base - 1) END AS place OFFSET 0) d;
      others := ARRAY(SELECT w.type FROM unnest(of_types, v_places, v_endings) AS w(type, place, ending)
        WHERE w.ending = 0 OR w.place IS NOT NULL);
    END IF;
    WITH taken AS MATERIALIZED (
      SELECT w.type, w.number, q.* FROM unnest(of_types, v_most, v_endings)
        WITH ORDINALITY AS w(type, most, ending, number)
      CROSS JOIN LATERAL (
        SELECT coalesce((SELECT o.upto FROM @schema@.fronts o WHERE o.type = w.type ORDER BY o.upto DESC LIMIT 1), 0)
          AS upto OFFSET 0) f
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS n, max(j.seq) AS upto, sum(greatest(0, now - j.enqueued_at)) AS ms,
          string_agg(j.id, E'\\n') AS ids, string_agg(j.seq::text, ' ') AS jobs,
          string_agg(j.enqueued_at::text, ' ') AS times, string_agg(replace(j.doc, E'\\n', ' '), E'\\n') AS docs
        FROM (SELECT j.seq, j.id, j.doc, j.enqueued_at FROM @schema@.jobs j
          WHERE j.plain AND j.type = w.type AND j.seq > f.upto AND j.seq < coalesce(w.ending, 9223372036854775807)
          ORDER BY j.seq LIMIT w.most) j) q
      WHERE q.n > 0 ORDER BY w.number),
    placed AS (SELECT t.*, (sum(t.n) OVER (ORDER BY t.number) - t.n + 1)::int AS first FROM taken t),
    passed AS (INSERT INTO @schema@.fronts (type, upto) SELECT t.type, t.upto FROM taken t)
    SELECT string_agg(t.ids, E'\\n'), array_agg(t.type), array_agg(t.first), string_agg(t.jobs, ' '),
        string_agg(t.times, ' '), string_agg(t.docs, E'\\n'), array_agg(-t.n),
        concat_ws(',', v_moves, string_agg('{"type":' || to_json(t.type) || ',"n":' || t.n || ',' || move || '}', ',')),
        concat_ws(',', v_activity, string_agg('{"type":' || to_json(t.type) || ',"n":' || t.n || ',"ms":' || t.ms
          || ',"counted":' || counted || '}', ','))
      INTO ids, types, firsts, jobs, times, docs, v_growth, v_moves, v_activity FROM placed t;
  END IF;
  IF caps IS NOT NULL THEN
    capped := ARRAY(SELECT w.type FROM unnest(of_types, most, v_most, v_endings, v_places)
        AS w(type, most, room, ending, place)
      WHERE w.room < w.most AND w.ending IS DISTINCT FROM 0
        AND w.room = coalesce((SELECT -t.growth FROM unnest(types, v_growth) AS t(type, growth) WHERE t.type = w.type), 0)
        AND (w.place IS NOT NULL OR EXISTS (SELECT FROM @schema@.jobs j
          WHERE j.plain AND j.type = w.type AND j.seq > @schema@.front(w.type))));
  END IF;
  IF jobs IS NOT NULL THEN
    base := v_base + v_ends;
    v_claimed := string_to_array(jobs, ' ')::bigint[];
    INSERT INTO @schema@.log (last, ids, types, firsts, entry) VALUES (base + cardinality(v_claimed) - 1,
      string_to_array(exchange.ids, E'\\n'), exchange.types, exchange.firsts, exchange.entry);
    INSERT INTO @schema@.claims AS c (rev, first, at, wake_at, jobs, token, worker, attempts)
      VALUES (2, base, now, exchange.wake_at, v_claimed, exchange.token, exchange.worker, exchange.attempts)
      RETURNING c.claim INTO claim;
  END IF;
  IF v_moves <> '' THEN
    unfolded := @schema@.finish_plain(log_max, now, v_base, v_ends + coalesce(cardinality(v_claimed), 0),
      v_types || types, array_fill(0, ARRAY[cardinality(v_types)]) || v_growth,
      v_leases || ARRAY(SELECT -g.growth FROM unnest(v_growth) AS g(growth)), v_moves, v_activity);
  END IF;
  RETURN NEXT;
END $$;

-- Removes jobs that have completed by the transitions of these numbers. "removed": their own numbers, without those
-- that are documents, or that somebody else holds.
CREATE FUNCTION @schema@.remove_plain(log_max bigint, now bigint, types text[], jobs bigint[], ended bigint[], move text)
RETURNS TABLE (base bigint, unfolded bigint, removed text) LANGUAGE plpgsql ${settings} AS $$
DECLARE
  v_base bigint;
  v_jobs bigint[];
  v_rows tid[];
  v_ends tid[];
  v_types text[];
  v_terms text[];
BEGIN
  PERFORM @schema@.take_turn();
  SELECT array_agg(h.seq), array_agg(h.job_row), array_agg(h.ends), array_agg(h.type)
    INTO v_jobs, v_rows, v_ends, v_types FROM (
    SELECT j.seq, j.ctid AS job_row, d.ctid AS ends, u.type
    FROM unnest(types, remove_plain.jobs, remove_plain.ended) AS u(type, job, ended)
    CROSS JOIN LATERAL (SELECT o.ctid, o.ended, o.jobs FROM @schema@.completions o
      WHERE o.type = u.type AND o.ended <= u.ended ORDER BY o.ended DESC LIMIT 1 FOR UPDATE SKIP LOCKED) d
    JOIN @schema@.jobs j ON j.seq = u.job AND d.jobs[u.ended - d.ended + 1] = u.job FOR UPDATE OF j SKIP LOCKED) h;
  IF v_jobs IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_base := coalesce((SELECT l.last FROM @schema@.log l ORDER BY l.last DESC LIMIT 1), 0) + 1;
  -- By where the rows are: their indexes have been looked up, and they are held.
  PERFORM @schema@.take_out_ends(v_ends, v_jobs);
  SELECT @schema@.finish_plain(log_max, now, v_base, 0, array_agg(c.type), array_agg(0), array_agg(0),
      string_agg('{"type":' || to_json(c.type) || ',"n":' || c.n || ',' || move || '}', ','), '')
    INTO unfolded
    FROM (SELECT u.type, count(*)::int AS n FROM unnest(v_types) AS u(type) GROUP BY u.type) c;
  base := v_base;
  removed := array_to_string(v_jobs, ' ');
  WITH gone AS (DELETE FROM @schema@.jobs j WHERE j.ctid = ANY(v_rows) RETURNING j.seq, j.terms)
  SELECT array_agg(u.term), array_agg(g.seq) INTO v_terms, v_jobs
    FROM gone g CROSS JOIN LATERAL unnest(g.terms) AS u(term);
  IF v_terms IS NOT NULL THEN PERFORM @schema@.remove_terms(v_terms, v_jobs); END IF;
  RETURN NEXT;
END $$;

-- What retention looks at: the jobs of a type that ended first, from a number of an end on. Documents have any state in
-- which a job has ended, plain jobs are done. A plan that is made while there are few would sort all that have ended; a
-- connection keeps its plan.
CREATE FUNCTION @schema@.first_ended(of_type text, in_state text, first bigint, most int)
RETURNS TABLE (id text, seq float8, ended float8, finished_at float8, plain boolean)
LANGUAGE plpgsql STABLE ${settings} SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT j.id, f.seq::float8, f.ended::float8, f.finished_at::float8, f.plain FROM (
      (SELECT o.seq, o.last_seq AS ended, o.finished_at, false AS plain FROM @schema@.jobs o
        WHERE o.state IN ('done', 'dead', 'cancelled') AND o.type = of_type AND o.state = in_state
        AND o.last_seq >= first ORDER BY o.last_seq LIMIT most)
      UNION ALL
      (SELECT o.job, d.ended + o.turn - 1, d.finished_at, true FROM @schema@.completions d
        CROSS JOIN LATERAL unnest(d.jobs) WITH ORDINALITY AS o(job, turn)
        WHERE in_state = 'done' AND d.type = of_type AND d.ended > first - ${endsMax} AND d.ended + o.turn > first
          AND o.job <> 0 ORDER BY d.ended, o.turn LIMIT most)
      ORDER BY 2 LIMIT most) f
    CROSS JOIN LATERAL (SELECT o.id FROM @schema@.jobs o WHERE o.seq = f.seq LIMIT 1) j ORDER BY f.ended;
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
  v_claims := ARRAY(SELECT h.claim FROM unnest(extend_plain.claims, tokens) AS k(claim, token)
    CROSS JOIN LATERAL (SELECT c.claim FROM @schema@.claims c
      WHERE c.claim = k.claim AND c.token = k.token AND c.jobs && named FOR UPDATE SKIP LOCKED) h);
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
