/** Version 1. `@schema@` is the quoted name of the schema. */
export const jobs = `
CREATE TABLE @schema@.meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

-- A job. "plain": it has done nothing but wait, run and complete, so that its row is as its enqueue has written it, and
-- where it stands is told by "fronts", "claims" and "completions": see the view "standing". What is written of it
-- otherwise makes it a document: "doc" then has all of it, and the columns have what statements look at.
-- Numbers of "doc" that count from 9e15 are those that its last write has given, from "base" on.
-- "wake_at": the due time, or the end of the lease. "concurrency": '' without a key, otherwise '=' and the key.
-- "terms": those of the table "terms"; null: none. "checkpoint": the number of the last one of a machine, which is in
-- the table "checkpoints"; null: it has none.
CREATE TABLE @schema@.jobs (
  id text COLLATE "C" PRIMARY KEY,
  plain boolean NOT NULL DEFAULT false,
  type text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  enqueued_at bigint NOT NULL,
  rev bigint,
  base bigint,
  state text COLLATE "C",
  last_seq bigint,
  place bigint,
  priority int,
  concurrency text COLLATE "C",
  weight float8,
  wake_at bigint,
  finished_at bigint,
  unique_key text COLLATE "C",
  worker text COLLATE "C",
  parent text COLLATE "C",
  failure text COLLATE "C",
  unsupported boolean,
  terms text[] COLLATE "C",
  checkpoint int,
  doc text NOT NULL
);
-- A connection keeps its plans, and an ANALYZE may come while all jobs are of one type, or in one state: another index,
-- which is in the order of the rows, then seems to be cheaper than the one that was made for a search, and a claim of a
-- type without queued jobs passes over those of all others. So nothing is known of the columns, whenever it comes, but
-- that few jobs have the same type.
ALTER TABLE @schema@.jobs ALTER COLUMN type SET (n_distinct = -1), ALTER id SET STATISTICS 0,
  ALTER plain SET STATISTICS 0, ALTER seq SET STATISTICS 0, ALTER enqueued_at SET STATISTICS 0,
  ALTER state SET STATISTICS 0, ALTER last_seq SET STATISTICS 0, ALTER place SET STATISTICS 0,
  ALTER priority SET STATISTICS 0, ALTER concurrency SET STATISTICS 0, ALTER wake_at SET STATISTICS 0,
  ALTER unique_key SET STATISTICS 0, ALTER parent SET STATISTICS 0, ALTER failure SET STATISTICS 0,
  ALTER unsupported SET STATISTICS 0;
CREATE UNIQUE INDEX jobs_enqueued ON @schema@.jobs (seq);
CREATE INDEX jobs_by_time ON @schema@.jobs USING brin (enqueued_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX jobs_plain ON @schema@.jobs (type, seq) WHERE plain;
CREATE INDEX jobs_of_type ON @schema@.jobs (type, state, seq) WHERE NOT plain;
CREATE INDEX jobs_queued ON @schema@.jobs (type, concurrency, priority DESC, place) WHERE state = 'queued';
CREATE INDEX jobs_queued_of_keys ON @schema@.jobs (type, priority DESC, place)
  WHERE state = 'queued' AND concurrency <> '';
CREATE INDEX jobs_queued_by_place ON @schema@.jobs (type, place) WHERE state = 'queued' AND NOT plain;
-- Of all types: an expression, so that nobody looks in it for a job of one type.
CREATE INDEX jobs_queued_first ON @schema@.jobs ((place + 0)) WHERE state = 'queued' AND NOT plain;
CREATE INDEX jobs_leased ON @schema@.jobs (wake_at, seq) WHERE state IN ('running', 'cancelling');
CREATE INDEX jobs_leased_of_key ON @schema@.jobs (type, concurrency)
  WHERE state IN ('running', 'cancelling') AND concurrency <> '';
CREATE INDEX jobs_due ON @schema@.jobs (wake_at, seq)
  WHERE state IN ('scheduled', 'retrying', 'waiting') AND wake_at IS NOT NULL;
CREATE INDEX jobs_ended ON @schema@.jobs (type, state, last_seq) WHERE state IN ('done', 'dead', 'cancelled');
CREATE INDEX jobs_of_parent ON @schema@.jobs (parent, seq) WHERE parent IS NOT NULL;
CREATE INDEX jobs_by_unique_key ON @schema@.jobs (unique_key, seq) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_by_concurrency ON @schema@.jobs (concurrency, seq) WHERE concurrency <> '';
CREATE INDEX jobs_by_failure ON @schema@.jobs (failure, seq) WHERE failure IS NOT NULL;
CREATE INDEX jobs_unsupported ON @schema@.jobs (seq) WHERE unsupported;

-- Checkpoints of machines, apart from the documents: these are written each time that a message comes.
CREATE TABLE @schema@.checkpoints (
  job bigint NOT NULL,
  number int NOT NULL,
  base bigint NOT NULL,
  entry text NOT NULL,
  PRIMARY KEY (job, number)
);

-- Keeps checkpoints: of each the job, its number, and a line of "entries"; of a job the last 50. Jobs of "anew" have
-- none before these: they have begun anew, or are gone.
CREATE FUNCTION @schema@.keep_checkpoints(anew bigint[], jobs bigint[], numbers int[], entries text, base bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM @schema@.checkpoints c WHERE c.ctid = ANY(ARRAY(
    SELECT o.ctid FROM unnest(anew) AS a(job) CROSS JOIN LATERAL (
      SELECT x.ctid FROM @schema@.checkpoints x WHERE x.job = a.job FOR UPDATE NOWAIT) o));
  -- Not from the first one on, as long as a transaction is open that began before. What a stranger holds goes later.
  DELETE FROM @schema@.checkpoints c WHERE c.ctid = ANY(ARRAY(
    SELECT o.ctid FROM unnest(jobs, numbers) AS k(job, number) CROSS JOIN LATERAL (
      SELECT x.ctid FROM @schema@.checkpoints x WHERE x.job = k.job AND x.number BETWEEN k.number - 100 AND k.number - 50
      FOR UPDATE SKIP LOCKED) o));
  -- A job that was set aside, and is brought back, may still have them.
  INSERT INTO @schema@.checkpoints AS c (job, number, base, entry)
    SELECT @schema@.given(k.job, keep_checkpoints.base), k.number, keep_checkpoints.base, k.entry
    FROM unnest(jobs, numbers, string_to_array(entries, E'\\n')) AS k(job, number, entry)
    ON CONFLICT (job, number) DO UPDATE SET base = excluded.base, entry = excluded.entry;
END $$;

-- The tags of jobs, members of their meta, and states and tags of their machines, as texts: see "terms.ts". Jobs of a
-- term are found in the order of their numbers, and terms in the order of their texts.
CREATE TABLE @schema@.terms (term text COLLATE "C" NOT NULL, job bigint NOT NULL, PRIMARY KEY (term, job));

-- Each row is looked up by itself: a plan for a table that seems to be empty would read it from its first row on.
-- Nobody waits for one that a stranger holds.
CREATE FUNCTION @schema@.remove_terms(of_terms text[], of_jobs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM @schema@.terms t WHERE t.ctid = ANY(ARRAY(
    SELECT o.ctid FROM unnest(of_terms, of_jobs) AS u(term, job) CROSS JOIN LATERAL (
      SELECT x.ctid FROM @schema@.terms x WHERE x.term = u.term AND x.job = u.job
      FOR UPDATE NOWAIT) o));
END $$;

-- Plain jobs of a type are claimed in the order of their numbers: those above the last "upto" are queued. Each claim
-- adds one, so that none is looked for among rows of the past; "fold" removes those before the last.
CREATE TABLE @schema@.fronts (type text COLLATE "C" NOT NULL, upto bigint NOT NULL, PRIMARY KEY (type, upto));

CREATE FUNCTION @schema@.front(of_type text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT f.upto FROM @schema@.fronts f WHERE f.type = of_type ORDER BY f.upto DESC LIMIT 1), 0);
END $$;

-- The lowest place of the queued documents of a type, or of all; null: none is queued. As long as a transaction is open
-- that began before, those that were claimed since stay in the indexes: so a connection keeps the place that it has
-- found, with the number of the last transition then, and looks from there on. Those that are queued later have higher
-- places, but for jobs that return to the place that they had: of them the last number is a small value "returned".
-- "last_number": that of the last transition, if it is known.
CREATE FUNCTION @schema@.queued_from(of_type text, last_number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_setting text := 'jobchart.queued_' || '@schema@.jobs'::regclass::oid || coalesce('_' || md5(of_type), '');
  v_known text := nullif(current_setting(v_setting, true), '');
  v_from bigint := coalesce(split_part(v_known, ' ', 1)::bigint, 0);
  v_last bigint;
  v_returned bigint;
  v_place bigint;
BEGIN
  LOOP
    SELECT coalesce(last_number, (SELECT l.last FROM @schema@.log l ORDER BY l.last DESC LIMIT 1)),
        (SELECT c.value::bigint FROM @schema@.cells c WHERE c.kind = 'returned' AND c.field = coalesce(of_type, '')),
        CASE WHEN of_type IS NULL
          THEN (SELECT j.place FROM @schema@.jobs j WHERE j.state = 'queued' AND NOT j.plain AND j.place + 0 >= v_from
            ORDER BY j.place + 0 LIMIT 1)
          ELSE (SELECT j.place FROM @schema@.jobs j WHERE j.state = 'queued' AND NOT j.plain AND j.type = of_type
            AND j.place >= v_from ORDER BY j.place LIMIT 1) END
      INTO v_last, v_returned, v_place;
    EXIT WHEN v_from = 0
      OR split_part(v_known, ' ', 2)::bigint BETWEEN coalesce(v_returned, 0) AND coalesce(v_last, 0);
    v_from := 0;
  END LOOP;
  -- Not for a few numbers: that costs more than to pass over them.
  IF v_from + 100 < coalesce(v_place, v_last + 1) THEN
    PERFORM set_config(v_setting, coalesce(v_place, v_last + 1) || ' ' || v_last, false);
  END IF;
  RETURN v_place;
END $$;

-- The plain jobs of a claim, and their common lease; 0 in place of one that has left it. "first": the number of the
-- CLAIM of the first job; the others follow. "attempts": how many attempts the jobs of each type have, as JSON.
CREATE TABLE @schema@.claims (
  claim bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rev int NOT NULL,
  first bigint NOT NULL,
  at bigint NOT NULL,
  wake_at bigint NOT NULL,
  jobs bigint[] NOT NULL,
  token text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  attempts text NOT NULL
) WITH (fillfactor = 50, toast_tuple_target = 8160);

-- No claim that is open has a lower number: as "queued_from", a connection keeps what it has found. Numbers only grow.
CREATE FUNCTION @schema@.claims_from() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_setting text := 'jobchart.claims_' || '@schema@.claims'::regclass::oid;
  v_from bigint := coalesce(nullif(current_setting(v_setting, true), ''), '0')::bigint;
  v_first bigint := (SELECT c.claim FROM @schema@.claims c WHERE c.claim >= v_from ORDER BY c.claim LIMIT 1);
BEGIN
  IF v_first > v_from THEN PERFORM set_config(v_setting, v_first::text, false); END IF;
  RETURN v_first;
END $$;

-- Plain jobs of a type and a claim that have completed by one call; 0 in place of one that has left. "ended": the
-- number of the first COMPLETE; the others follow. "claimed": that of the CLAIM of the first job of the claim; "turns":
-- where in the claim each of these was. "upto": the last job of the type in the claim. A claim takes the jobs of a type
-- in their order: so it is that with the first "upto" which is not below the number of a job.
CREATE TABLE @schema@.completions (
  type text COLLATE "C" NOT NULL,
  ended bigint NOT NULL,
  upto bigint NOT NULL,
  claimed bigint NOT NULL,
  started_at bigint NOT NULL,
  finished_at bigint NOT NULL,
  rev int NOT NULL,
  max_attempts int,
  token text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  jobs bigint[] NOT NULL,
  turns int[] NOT NULL,
  outputs text[],
  PRIMARY KEY (type, ended)
) WITH (toast_tuple_target = 8160);
CREATE INDEX completions_of_claim ON @schema@.completions (type, upto);

-- Where each job stands, and what searches look at. "facts": of a plain job what its document is made of beside "doc",
-- see plain.ts. "last_seq" and "finished_at" are those of the end of a job. Before the document of a job with a
-- checkpoint comes a line of the last one: the number that it counts from, and the entry.
CREATE VIEW @schema@.standing AS
  SELECT j.id, j.seq, j.type, j.enqueued_at, j.base, CASE WHEN j.checkpoint IS NULL THEN j.doc
      ELSE coalesce((SELECT k.base || ' ' || k.entry FROM @schema@.checkpoints k
        WHERE k.job = j.seq AND k.number = j.checkpoint), 'missing') || E'\\n' || j.doc END AS doc,
    j.unique_key, j.concurrency, j.parent, j.failure, j.unsupported, j.terms,
    coalesce(j.last_seq, d.ended + d.turn - 1) AS last_seq, coalesce(j.finished_at, d.finished_at) AS finished_at,
    CASE WHEN NOT j.plain THEN j.state WHEN j.seq > f.upto THEN 'queued' WHEN d.turn IS NOT NULL THEN 'done'
      ELSE 'running' END AS state,
    CASE WHEN NOT j.plain THEN j.rev WHEN j.seq > f.upto THEN 1 ELSE coalesce(d.rev, c.rev) END AS rev,
    CASE WHEN NOT j.plain THEN j.wake_at ELSE c.wake_at END AS wake_at,
    CASE WHEN j.plain THEN json_build_object('id', j.id, 'type', j.type, 'seq', j.seq, 'enqueuedAt', j.enqueued_at,
      'rev', coalesce(d.rev, c.rev, 1), 'start', CASE WHEN d.turn IS NOT NULL OR c.turn IS NOT NULL THEN json_build_object(
        'seq', coalesce(d.claimed + d.turns[d.turn], c.first + c.turn) - 1, 'at', coalesce(d.started_at, c.at),
        'worker', coalesce(d.worker, c.worker), 'token', coalesce(d.token, c.token),
        'maxAttempts', coalesce(d.max_attempts, (c.attempts::json ->> j.type)::int), 'wakeAt', c.wake_at) END,
      'end', CASE WHEN d.turn IS NOT NULL THEN json_build_object('seq', d.ended + d.turn - 1, 'at', d.finished_at,
        'output', nullif(d.outputs[d.turn], '')) END)::text END AS facts
  FROM @schema@.jobs j
  CROSS JOIN LATERAL (SELECT CASE WHEN j.plain THEN @schema@.front(j.type) END AS upto OFFSET 0) f
  LEFT JOIN LATERAL (SELECT o.*, array_position(o.jobs, j.seq) AS turn FROM @schema@.completions o
    WHERE j.plain AND j.seq <= f.upto AND o.type = j.type AND j.seq = ANY(o.jobs)
      AND o.upto = (SELECT n.upto FROM @schema@.completions n WHERE n.type = j.type AND n.upto >= j.seq
        ORDER BY n.upto LIMIT 1) LIMIT 1) d ON true
  LEFT JOIN LATERAL (SELECT o.*, array_position(o.jobs, j.seq) AS turn FROM @schema@.claims o
    WHERE j.plain AND j.seq <= f.upto AND d.turn IS NULL AND o.claim >= @schema@.claims_from() AND j.seq = ANY(o.jobs)
    LIMIT 1) c ON true;

-- Some jobs that were enqueued from one time on, before another, by the index that has ranges of times.
CREATE FUNCTION @schema@.in_time(first bigint, last bigint, most int) RETURNS TABLE (job bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET enable_bitmapscan = on SET enable_seqscan = off
SET enable_indexscan = off SET enable_indexonlyscan = off SET jit = off
AS $$
BEGIN
  RETURN QUERY SELECT j.seq FROM @schema@.jobs j
    WHERE j.enqueued_at >= in_time.first AND j.enqueued_at < in_time.last LIMIT most;
END $$;

-- A search, by plans that go through indexes whatever is known of the tables. "params": what "query" names as $1[n].
CREATE FUNCTION @schema@.found(query text, params text[])
RETURNS TABLE (a float8, b float8, id text, base float8, doc text, facts text)
LANGUAGE plpgsql STABLE SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
  RETURN QUERY EXECUTE query USING params;
END $$;

CREATE TABLE @schema@.cells (
  kind text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (kind, field)
);

-- The log, numbered in the order of the commits, without gaps. Its last number is that of the last transition. A row
-- has the transitions of jobs that differ in nothing else: those up to "last". "firsts": at which of them each of the
-- types begins. With a type for each, a page would have one row of a hundred jobs in place of two.
CREATE TABLE @schema@.log (
  last bigint PRIMARY KEY,
  ids text[] COLLATE "C" NOT NULL,
  types text[] COLLATE "C" NOT NULL,
  firsts int[] NOT NULL DEFAULT '{1}',
  entry text NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE @schema@.log ALTER COLUMN ids SET STORAGE EXTERNAL, ALTER COLUMN types SET STORAGE EXTERNAL;

-- What each commit changes of the figures, in the order of the commits: those after "folds.upto" are not in "figures".
-- "growth", "leases": by how much the backlog of each type of "types" grows, and how many more of its jobs are leased.
CREATE TABLE @schema@.moves (
  move bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  base bigint NOT NULL,
  types text[] COLLATE "C" NOT NULL,
  growth int[] NOT NULL,
  leases int[] NOT NULL,
  body text NOT NULL
);
-- "front": where plain jobs of the type were claimed up to when they were written down.
CREATE TABLE @schema@.figures (
  type text COLLATE "C" PRIMARY KEY,
  backlog bigint NOT NULL,
  leased bigint NOT NULL,
  value text NOT NULL,
  front bigint NOT NULL DEFAULT 0
);
CREATE TABLE @schema@.folds (one boolean PRIMARY KEY DEFAULT true CHECK (one), upto bigint NOT NULL);
INSERT INTO @schema@.folds (upto) VALUES (0);

-- What a reader adds to the figures that it knows up to a move, of several kinds: 0 where the folded ones end, 1 the
-- folded ones if there are others than were known, 2 moves. A plan that is made while there are few would read all that
-- were ever there.
CREATE FUNCTION @schema@.figures_after(known bigint)
RETURNS TABLE (kind int, number float8, type text, value text, last float8) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  v_upto bigint := (SELECT f.upto FROM @schema@.folds f WHERE f.one);
BEGIN
  RETURN QUERY SELECT 0, v_upto::float8, NULL::text, NULL::text,
    (SELECT l.last FROM @schema@.log l ORDER BY l.last DESC LIMIT 1)::float8;
  IF v_upto > known THEN
    RETURN QUERY SELECT 1, NULL::float8, g.type, g.value, NULL::float8 FROM @schema@.figures g;
  END IF;
  RETURN QUERY SELECT 2, m.move::float8, NULL::text, m.body, m.base::float8 FROM @schema@.moves m
    WHERE m.move > greatest(known, v_upto);
END $$;

-- Commits are one after the other: each takes the turn first, and keeps it until its transaction has ended. What is
-- read afterwards is what all commits before it have left.
CREATE FUNCTION @schema@.take_turn() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock((1785684579::bigint << 32) | '@schema@.jobs'::regclass::oid::bigint);
END $$;

-- A number that the commit gives counts from 9e15: see "base" of jobs.
CREATE FUNCTION @schema@.given(number bigint, base bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN number >= 9000000000000000 THEN number - 9000000000000000 + base ELSE number END
$$;

-- Is there less room in the backlog than a commit needs?
CREATE FUNCTION @schema@.lacks_room(room_types text[], rooms bigint[]) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM unnest(room_types, rooms) AS r(type, room)
    WHERE r.room < coalesce((SELECT sum(f.backlog) FROM @schema@.figures f WHERE r.type IS NULL OR f.type = r.type), 0)
      + coalesce((
        SELECT sum(u.growth) FROM @schema@.moves m CROSS JOIN LATERAL unnest(m.types, m.growth) AS u(type, growth)
        WHERE m.move > (SELECT f.upto FROM @schema@.folds f) AND (r.type IS NULL OR u.type = r.type)), 0))
$$;

-- Appends a move, and removes old entries of the log. Returns how many moves are not in the figures yet.
-- The entries that were removed are passed over by every search from the first one on, as long as a transaction is open
-- that began before: so a connection keeps the number below which it has left none.
CREATE FUNCTION @schema@.finish(log_max bigint, base bigint, numbers int, types text[], growth int[], leases int[],
  body text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_unfolded bigint;
  v_upto bigint := base + numbers - log_max;
  v_setting text := 'jobchart.log_' || '@schema@.log'::regclass::oid;
  v_from bigint;
  v_old bigint[];
  v_gone int;
BEGIN
  IF base / 1000 <> (base + numbers) / 1000 THEN
    v_from := coalesce(nullif(current_setting(v_setting, true), ''), '0')::bigint;
    v_old := ARRAY(SELECT l.last FROM @schema@.log l WHERE l.last >= v_from AND l.last < v_upto);
    DELETE FROM @schema@.log WHERE last = ANY(ARRAY(
      SELECT l.last FROM @schema@.log l WHERE l.last = ANY(v_old) FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    IF v_gone = cardinality(v_old) THEN
      PERFORM set_config(v_setting, greatest(v_from, v_upto)::text, false);
    END IF;
  END IF;
  INSERT INTO @schema@.moves (base, types, growth, leases, body) VALUES (base, types, growth, leases, body)
    RETURNING move - (SELECT f.upto FROM @schema@.folds f WHERE f.one) INTO v_unfolded;
  RETURN v_unfolded;
END $$;

-- Jobs are no completed plain jobs any more. "ends": the row that has each. False: somebody else holds one.
CREATE FUNCTION @schema@.take_out_ends(ends tid[], taken bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(DISTINCT e.row) FROM unnest(ends) AS e(row)) > cardinality(ARRAY(
    SELECT d.ended FROM @schema@.completions d WHERE d.ctid = ANY(ends) FOR UPDATE SKIP LOCKED)) THEN
    RETURN false;
  END IF;
  DELETE FROM @schema@.completions d WHERE d.ctid = ANY(ends)
    AND cardinality(array_remove(d.jobs, 0)) = cardinality(array_positions(ends, d.ctid));
  UPDATE @schema@.completions d SET jobs = ARRAY(SELECT CASE WHEN o.job = ANY(taken) THEN 0 ELSE o.job END
    FROM unnest(d.jobs) WITH ORDINALITY AS o(job, turn) ORDER BY o.turn) WHERE d.ctid = ANY(ends);
  RETURN true;
END $$;

-- Plain jobs become documents: where they stand is told by these. False: somebody else holds their claim, or their end.
CREATE FUNCTION @schema@.take_out(taken bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_claims bigint[] := ARRAY(SELECT c.claim FROM @schema@.claims c
    WHERE c.claim >= @schema@.claims_from() AND c.jobs && taken);
BEGIN
  IF cardinality(v_claims) > cardinality(ARRAY(
    SELECT c.claim FROM @schema@.claims c WHERE c.claim = ANY(v_claims) FOR UPDATE SKIP LOCKED)) THEN
    RETURN false;
  END IF;
  IF NOT @schema@.take_out_ends(ARRAY(
    SELECT e.ctid FROM @schema@.jobs j CROSS JOIN LATERAL (
      SELECT d.ctid FROM @schema@.completions d WHERE d.type = j.type AND j.seq = ANY(d.jobs)
        AND d.upto = (SELECT n.upto FROM @schema@.completions n WHERE n.type = j.type AND n.upto >= j.seq
          ORDER BY n.upto LIMIT 1)) e
    WHERE j.seq = ANY(taken)), taken) THEN
    RETURN false;
  END IF;
  UPDATE @schema@.claims c SET jobs = ARRAY(SELECT CASE WHEN o.job = ANY(taken) THEN 0 ELSE o.job END
    FROM unnest(c.jobs) WITH ORDINALITY AS o(job, turn) ORDER BY o.turn) WHERE c.claim = ANY(v_claims);
  DELETE FROM @schema@.claims c WHERE c.claim = ANY(v_claims) AND 0 = ALL(c.jobs);
  RETURN true;
END $$;

-- Writes everything, if everything is as it was read; otherwise nothing. Numbers from 9e15 on count from "base".
-- "written": the rows of jobs, as JSON, without "doc", of which "docs" has a line for each. "anew", "kept…": see
-- "keep_checkpoints".
-- "stale": what is not as it was read, by the names that "staleOf" gives. "locked": rows that somebody else holds. An
-- open transaction of a handler holds the rows of its jobs FOR KEY SHARE: their leases are extended, and not ended.
-- "fences" is stale if such a transaction has committed, and is to be carried out first.
CREATE FUNCTION @schema@.commit(
  log_max bigint,
  read_ids text[], read_revisions text[], read_kinds text[], read_fields text[], read_values text[],
  room_types text[], rooms bigint[],
  written json, docs text, gone_ids text[], anew bigint[], kept_jobs bigint[], kept_numbers int[], kept_entries text,
  cell_kinds text[], cell_fields text[], cell_values text[],
  log_ids text[], log_types text[], log_entries text[],
  move_types text[], move_growth int[], move_leases int[], move_body text
) RETURNS TABLE (base bigint, stale text[], locked text[], unfolded bigint)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off SET lock_timeout = '5s'
AS $$
DECLARE
  v_base bigint;
  v_rows @schema@.jobs[];
  v_docs text[];
  v_written text[];
  v_ending text[];
  v_plain bigint[];
  v_terms text[];
  v_jobs bigint[];
BEGIN
  PERFORM @schema@.take_turn();
  v_base := coalesce((SELECT l.last FROM @schema@.log l ORDER BY l.last DESC LIMIT 1), 0) + 1;
  -- Each row and value is looked up by itself: a join that is planned while there are few would read all of them.
  stale := ARRAY(
    SELECT 'row ' || r.id FROM unnest(read_ids, read_revisions) AS r(id, revision)
    LEFT JOIN LATERAL (SELECT o.rev, o.seq FROM @schema@.standing o WHERE o.id = r.id LIMIT 1) s ON true
    WHERE (s.rev || ':' || s.seq) IS DISTINCT FROM r.revision
  ) || ARRAY(
    SELECT r.kind || ' ' || r.field FROM unnest(read_kinds, read_fields, read_values) AS r(kind, field, value)
    LEFT JOIN LATERAL (SELECT x.value FROM @schema@.cells x WHERE x.kind = r.kind AND x.field = r.field LIMIT 1) c ON true
    WHERE c.value IS DISTINCT FROM r.value);
  IF rooms <> '{}' AND @schema@.lacks_room(room_types, rooms) THEN stale := stale || 'backlog'::text; END IF;
  IF stale <> '{}' THEN
    RETURN NEXT;
    RETURN;
  END IF;

  v_rows := ARRAY(SELECT u FROM json_populate_recordset(NULL::@schema@.jobs, written) AS u);
  v_docs := string_to_array(docs, E'\\n');
  -- A row that is written for the first time has revision 1.
  v_written := ARRAY(SELECT u.id FROM unnest(v_rows) AS u WHERE u.rev > 1) || gone_ids;
  IF v_written <> '{}' THEN
    v_ending := ARRAY(SELECT u.id FROM unnest(v_rows) AS u
      CROSS JOIN LATERAL (SELECT o.state FROM @schema@.standing o WHERE o.id = u.id LIMIT 1) s
      WHERE u.rev > 1 AND s.state IN ('running', 'cancelling') AND u.state <> s.state) || gone_ids;
    -- By their ids: while no job is plain, the whole of an index of plain jobs would be cheaper.
    v_plain := ARRAY(SELECT j.seq FROM @schema@.jobs j WHERE j.id = ANY(v_written) AND CASE WHEN j.plain THEN true END);
    WITH ending AS MATERIALIZED (SELECT j.id FROM @schema@.jobs j WHERE j.id = ANY(v_ending) FOR UPDATE SKIP LOCKED),
    others AS MATERIALIZED (SELECT j.id FROM @schema@.jobs j
      WHERE j.id = ANY(v_written) AND j.id <> ALL(v_ending) FOR NO KEY UPDATE SKIP LOCKED)
    SELECT array_agg(w.id) INTO locked FROM unnest(v_written) AS w(id)
    WHERE w.id NOT IN (SELECT ending.id FROM ending UNION ALL SELECT others.id FROM others);
    IF v_ending <> '{}' AND EXISTS (SELECT FROM unnest(v_ending) AS e(id) JOIN @schema@.cells c
      ON c.kind = 'fences' AND c.field > e.id || ' ' AND c.field < e.id || '!' AND c.value = e.id
      WHERE c.field <> ALL(cell_fields)) THEN
      stale := '{fences}';
    END IF;
    IF locked IS NULL AND stale = '{}' AND v_plain <> '{}' AND NOT @schema@.take_out(v_plain) THEN locked := v_written; END IF;
    IF locked IS NOT NULL OR stale <> '{}' THEN
      RETURN NEXT;
      RETURN;
    END IF;

    SELECT array_agg(t.term), array_agg(o.seq) INTO v_terms, v_jobs
      FROM (SELECT u.id, u.terms FROM unnest(v_rows) AS u UNION ALL SELECT g.id, NULL FROM unnest(gone_ids) AS g(id)) w
      CROSS JOIN LATERAL (SELECT j.seq, j.terms FROM @schema@.jobs j WHERE j.id = w.id LIMIT 1) o
      CROSS JOIN LATERAL unnest(o.terms) AS t(term) WHERE (t.term = ANY(w.terms)) IS NOT TRUE;
    IF v_terms IS NOT NULL THEN PERFORM @schema@.remove_terms(v_terms, v_jobs); END IF;
    DELETE FROM @schema@.jobs j WHERE j.id = ANY(gone_ids);
  END IF;

  IF EXISTS (SELECT FROM unnest(v_rows) AS u WHERE u.state = 'queued' AND u.place < 9000000000000000) THEN
    INSERT INTO @schema@.cells (kind, field, value)
      SELECT 'returned', b.type, v_base FROM unnest(v_rows) AS u CROSS JOIN LATERAL (VALUES (u.type), ('')) AS b(type)
      WHERE u.state = 'queued' AND u.place < 9000000000000000
        AND (SELECT o.state FROM @schema@.jobs o WHERE o.id = u.id LIMIT 1) IS DISTINCT FROM 'queued'
      GROUP BY b.type
      ON CONFLICT (kind, field) DO UPDATE SET value = excluded.value;
  END IF;
  INSERT INTO @schema@.jobs (id, type, seq, enqueued_at, rev, base, state, last_seq, place, priority, concurrency, weight,
      wake_at, finished_at, unique_key, worker, parent, failure, unsupported, terms, checkpoint, doc)
    SELECT u.id, u.type, @schema@.given(u.seq, v_base), u.enqueued_at, u.rev, v_base, u.state,
      @schema@.given(u.last_seq, v_base), @schema@.given(u.place, v_base), u.priority, u.concurrency, u.weight,
      u.wake_at, u.finished_at, u.unique_key, u.worker, u.parent, u.failure, u.unsupported, u.terms, u.checkpoint,
      v_docs[u.ordinality::int]
    FROM unnest(v_rows) WITH ORDINALITY AS u
    -- Without the keys of the row, which do not change: a transaction of a handler may hold it FOR KEY SHARE.
    ON CONFLICT (id) DO UPDATE SET (plain, rev, base, state, last_seq, place, priority, concurrency, weight, wake_at,
      finished_at, unique_key, worker, parent, failure, unsupported, terms, checkpoint, doc)
      = (false, excluded.rev, excluded.base, excluded.state, excluded.last_seq, excluded.place, excluded.priority,
      excluded.concurrency, excluded.weight, excluded.wake_at, excluded.finished_at, excluded.unique_key,
      excluded.worker, excluded.parent, excluded.failure, excluded.unsupported, excluded.terms, excluded.checkpoint,
      excluded.doc);
  IF EXISTS (SELECT FROM unnest(v_rows) AS u WHERE u.terms IS NOT NULL) THEN
    INSERT INTO @schema@.terms (term, job)
      SELECT t.term, @schema@.given(u.seq, v_base) FROM unnest(v_rows) AS u CROSS JOIN LATERAL unnest(u.terms) AS t(term)
      ON CONFLICT DO NOTHING;
  END IF;

  IF anew <> '{}' OR kept_jobs <> '{}' THEN
    PERFORM @schema@.keep_checkpoints(anew, kept_jobs, kept_numbers, kept_entries, v_base);
  END IF;
  IF cell_kinds <> '{}' THEN
    DELETE FROM @schema@.cells c WHERE c.ctid = ANY(ARRAY(
      SELECT o.ctid FROM unnest(cell_kinds, cell_fields, cell_values) AS w(kind, field, value) CROSS JOIN LATERAL (
        SELECT x.ctid FROM @schema@.cells x WHERE x.kind = w.kind AND x.field = w.field LIMIT 1 FOR UPDATE) o
      WHERE w.value IS NULL));
    INSERT INTO @schema@.cells (kind, field, value)
      SELECT w.kind, w.field, w.value FROM unnest(cell_kinds, cell_fields, cell_values) AS w(kind, field, value)
      WHERE w.value IS NOT NULL
      ON CONFLICT (kind, field) DO UPDATE SET value = excluded.value;
  END IF;
  IF log_ids <> '{}' THEN
    INSERT INTO @schema@.log (last, ids, types, entry) SELECT v_base - 1 + u.number, ARRAY[u.id], ARRAY[u.type], u.entry
      FROM unnest(log_ids, log_types, log_entries) WITH ORDINALITY AS u(id, type, entry, number);
  END IF;
  unfolded := @schema@.finish(log_max, v_base, cardinality(log_ids), move_types, move_growth, move_leases,
    move_body);
  base := v_base;
  RETURN NEXT;
END $$;

-- Adds what was folded by a process to the figures, if no other process has, and removes what it is made of. What the
-- fold before has removed is not passed over again, which a transaction may keep that is open for long: only by one in
-- 97, for rows that a stranger held then.
CREATE FUNCTION @schema@.fold(known bigint, folded bigint, types text[], backlogs bigint[], leased bigint[],
  vals text[])
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '1s' SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
  v_all boolean := folded % 97 = 0;
  v_type text;
  v_before bigint;
  v_front bigint;
BEGIN
  PERFORM FROM @schema@.folds WHERE upto = known FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;
  -- Nobody waits for a row that a stranger holds: a later fold does it.
  IF (SELECT count(*) FROM @schema@.figures f WHERE f.type = ANY(types))
    > cardinality(ARRAY(SELECT f.type FROM @schema@.figures f WHERE f.type = ANY(types) FOR UPDATE SKIP LOCKED)) THEN
    RETURN false;
  END IF;
  UPDATE @schema@.folds SET upto = folded;
  DELETE FROM @schema@.moves WHERE move = ANY(ARRAY(SELECT m.move FROM @schema@.moves m
    WHERE m.move > CASE WHEN v_all THEN 0 ELSE known END AND m.move <= folded FOR UPDATE SKIP LOCKED));
  FOR i IN 1 .. cardinality(types) LOOP
    v_type := types[i];
    v_front := @schema@.front(v_type);
    v_before := CASE WHEN v_all THEN 0 ELSE coalesce((SELECT g.front FROM @schema@.figures g WHERE g.type = v_type), 0) END;
    IF v_front > v_before THEN
      DELETE FROM @schema@.fronts WHERE ctid = ANY(ARRAY(SELECT f.ctid FROM @schema@.fronts f
        WHERE f.type = v_type AND f.upto >= v_before AND f.upto < v_front FOR UPDATE SKIP LOCKED));
    END IF;
    INSERT INTO @schema@.figures (type, backlog, leased, value, front)
      VALUES (v_type, backlogs[i], fold.leased[i], vals[i], v_front)
      ON CONFLICT (type) DO UPDATE SET backlog = excluded.backlog, leased = excluded.leased, value = excluded.value,
        front = excluded.front;
  END LOOP;
  RETURN true;
END $$;
`
