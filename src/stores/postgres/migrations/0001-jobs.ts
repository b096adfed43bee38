/** Version 1. `@schema@` is the quoted name of the schema. */
export const jobs = `
CREATE TABLE @schema@.meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

-- A job. Numbers of "doc" that count from 9e15 are those that its last write has given, from "base" on.
-- "wake_at": the due time, or the end of the lease. "concurrency": '' without a key, otherwise '=' and the key.
CREATE TABLE @schema@.jobs (
  id text COLLATE "C" PRIMARY KEY,
  rev bigint NOT NULL,
  base bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  place bigint NOT NULL,
  priority int NOT NULL,
  concurrency text COLLATE "C" NOT NULL,
  weight float8 NOT NULL,
  wake_at bigint,
  enqueued_at bigint NOT NULL,
  finished_at bigint,
  unique_key text COLLATE "C",
  worker text COLLATE "C",
  parent text COLLATE "C",
  failure text COLLATE "C",
  unsupported boolean NOT NULL,
  tags text[] COLLATE "C",
  machine_states text[] COLLATE "C",
  machine_tags text[] COLLATE "C",
  doc text NOT NULL
);
CREATE UNIQUE INDEX jobs_enqueued ON @schema@.jobs (seq);
CREATE INDEX jobs_of_type ON @schema@.jobs (type, state, seq);
CREATE INDEX jobs_queued ON @schema@.jobs (type, concurrency, priority DESC, place) WHERE state = 'queued';
CREATE INDEX jobs_leased ON @schema@.jobs (wake_at, seq) WHERE state IN ('running', 'cancelling');
CREATE INDEX jobs_leased_of_key ON @schema@.jobs (type, concurrency)
  WHERE state IN ('running', 'cancelling') AND concurrency <> '';
CREATE INDEX jobs_due ON @schema@.jobs (wake_at, seq)
  WHERE state IN ('scheduled', 'retrying', 'waiting') AND wake_at IS NOT NULL;
CREATE INDEX jobs_ended ON @schema@.jobs (type, state, last_seq) WHERE state IN ('done', 'dead', 'cancelled');
CREATE INDEX jobs_finished ON @schema@.jobs (last_seq) WHERE state IN ('done', 'dead', 'cancelled');
CREATE INDEX jobs_of_parent ON @schema@.jobs (parent) WHERE parent IS NOT NULL;
CREATE INDEX jobs_by_unique_key ON @schema@.jobs (unique_key, seq) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_by_concurrency ON @schema@.jobs (concurrency, seq) WHERE concurrency <> '';
CREATE INDEX jobs_by_failure ON @schema@.jobs (failure, seq) WHERE failure IS NOT NULL;
CREATE INDEX jobs_unsupported ON @schema@.jobs (seq) WHERE unsupported;
CREATE INDEX jobs_by_tag ON @schema@.jobs USING gin (tags) WHERE tags IS NOT NULL;
CREATE INDEX jobs_by_machine_state ON @schema@.jobs USING gin (machine_states) WHERE machine_states IS NOT NULL;
CREATE INDEX jobs_by_machine_tag ON @schema@.jobs USING gin (machine_tags) WHERE machine_tags IS NOT NULL;

CREATE TABLE @schema@.cells (
  kind text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (kind, field)
);

-- The log, numbered in the order of the commits, without gaps. Its last number is that of the last transition.
CREATE TABLE @schema@.log (
  seq bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  entry text NOT NULL
);

-- What each commit changes of the figures, in the order of the commits: those after "folds.upto" are not in "figures".
-- "growth": by how much the backlog of each type of "types" grows.
CREATE TABLE @schema@.moves (
  move bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  base bigint NOT NULL,
  types text[] COLLATE "C" NOT NULL,
  growth int[] NOT NULL,
  body text NOT NULL
);
CREATE TABLE @schema@.figures (type text COLLATE "C" PRIMARY KEY, backlog bigint NOT NULL, value text NOT NULL);
CREATE TABLE @schema@.folds (one boolean PRIMARY KEY DEFAULT true CHECK (one), upto bigint NOT NULL);
INSERT INTO @schema@.folds (upto) VALUES (0);

-- Commits are one after the other: each takes the turn first, and keeps it until its transaction has ended. What is
-- read afterwards is what all commits before it have left.
CREATE FUNCTION @schema@.take_turn() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock((1785684579::bigint << 32) | '@schema@.jobs'::regclass::oid::bigint)
$$;

CREATE FUNCTION @schema@.backlog(of_type text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT sum(backlog) FROM @schema@.figures WHERE of_type IS NULL OR type = of_type), 0)::bigint
    + coalesce((
        SELECT sum(u.growth) FROM @schema@.moves m CROSS JOIN LATERAL unnest(m.types, m.growth) AS u(type, growth)
        WHERE m.move > (SELECT upto FROM @schema@.folds) AND (of_type IS NULL OR u.type = of_type)), 0)::bigint
$$;

-- A number that the commit gives counts from 9e15: see "base" of jobs.
CREATE FUNCTION @schema@.given(number bigint, base bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN number >= 9000000000000000 THEN number - 9000000000000000 + base ELSE number END
$$;

-- Writes everything, if everything is as it was read; otherwise nothing. Numbers from 9e15 on count from "base".
-- "stale_rows", "stale_cells": positions in the lists of what was read, from 1. "locked": rows that somebody else
-- holds. An open transaction of a handler holds the rows of its jobs FOR KEY SHARE: their leases are extended, and not
-- ended. "fenced": such a transaction has committed, and is to be carried out first.
CREATE FUNCTION @schema@.commit(
  log_max bigint, turn boolean,
  read_ids text[], read_revisions text[], read_kinds text[], read_fields text[], read_values text[],
  room_types text[], rooms bigint[],
  job_known boolean[], job_ids text[], job_revs bigint[], job_states text[], job_types text[], job_seqs bigint[],
  job_last_seqs bigint[], job_places bigint[], job_priorities int[], job_concurrency text[], job_weights float8[],
  job_wakes bigint[],
  job_enqueued bigint[], job_finished bigint[], job_keys text[], job_workers text[], job_parents text[],
  job_failures text[], job_unsupported boolean[], job_tags text[], job_machine_states text[], job_machine_tags text[],
  job_docs text[],
  gone_ids text[], cell_kinds text[], cell_fields text[], cell_values text[],
  log_ids text[], log_types text[], log_entries text[],
  move_types text[], move_growth int[], move_body text
) RETURNS TABLE (base bigint, stale_rows int[], stale_cells int[], is_full boolean, locked text[], fenced boolean, unfolded bigint)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off SET lock_timeout = '5s'
AS $$
DECLARE
  v_base bigint;
  v_move bigint;
  v_written text[];
  v_ending text[];
BEGIN
  IF turn THEN PERFORM @schema@.take_turn(); END IF;
  v_base := coalesce((SELECT max(l.seq) FROM @schema@.log l), 0) + 1;
  stale_rows := ARRAY(
    SELECT r.number::int FROM unnest(read_ids, read_revisions) WITH ORDINALITY AS r(id, revision, number)
    LEFT JOIN @schema@.jobs j ON j.id = r.id
    WHERE (j.rev || ':' || j.seq) IS DISTINCT FROM r.revision);
  stale_cells := ARRAY(
    SELECT r.number::int
    FROM unnest(read_kinds, read_fields, read_values) WITH ORDINALITY AS r(kind, field, value, number)
    LEFT JOIN @schema@.cells c ON c.kind = r.kind AND c.field = r.field
    WHERE c.value IS DISTINCT FROM r.value);
  is_full := cardinality(rooms) > 0 AND EXISTS (
    SELECT FROM unnest(room_types, rooms) AS r(type, room) WHERE @schema@.backlog(r.type) > r.room);
  IF cardinality(stale_rows) > 0 OR cardinality(stale_cells) > 0 OR is_full THEN
    RETURN NEXT;
    RETURN;
  END IF;

  v_written := ARRAY(SELECT u.id FROM unnest(job_known, job_ids) AS u(known, id) WHERE u.known) || gone_ids;
  IF v_written <> '{}' THEN
    v_ending := ARRAY(SELECT u.id FROM unnest(job_known, job_ids, job_states) AS u(known, id, state)
      JOIN @schema@.jobs j ON j.id = u.id
      WHERE u.known AND j.state IN ('running', 'cancelling') AND u.state <> j.state) || gone_ids;
    WITH ending AS MATERIALIZED (SELECT j.id FROM @schema@.jobs j WHERE j.id = ANY(v_ending) FOR UPDATE SKIP LOCKED),
    others AS MATERIALIZED (SELECT j.id FROM @schema@.jobs j
      WHERE j.id = ANY(v_written) AND j.id <> ALL(v_ending) FOR NO KEY UPDATE SKIP LOCKED)
    SELECT array_agg(w.id) INTO locked FROM unnest(v_written) AS w(id)
    WHERE w.id NOT IN (SELECT ending.id FROM ending UNION ALL SELECT others.id FROM others);
    fenced := v_ending <> '{}' AND EXISTS (SELECT FROM unnest(v_ending) AS e(id) JOIN @schema@.cells c
      ON c.kind = 'fences' AND c.field > e.id || ' ' AND c.field < e.id || '!' AND c.value = e.id
      WHERE c.field <> ALL(cell_fields));
    IF locked IS NOT NULL OR fenced THEN
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;

  IF gone_ids <> '{}' THEN DELETE FROM @schema@.jobs j WHERE j.id = ANY(gone_ids); END IF;
  IF false = ANY(job_known) THEN
    INSERT INTO @schema@.jobs (id, rev, base, state, type, seq, last_seq, place, priority, concurrency, weight, wake_at,
      enqueued_at, finished_at, unique_key, worker, parent, failure, unsupported, tags, machine_states, machine_tags,
      doc)
    SELECT u.id, u.rev, v_base, u.state, u.type, @schema@.given(u.seq, v_base), @schema@.given(u.last_seq, v_base),
      @schema@.given(u.place, v_base), u.priority, u.concurrency, u.weight, u.wake_at, u.enqueued_at, u.finished_at,
      u.unique_key, u.worker, u.parent, u.failure, u.unsupported, u.tags::text[], u.machine_states::text[],
      u.machine_tags::text[], u.doc
    FROM unnest(job_known, job_ids, job_revs, job_states, job_types, job_seqs, job_last_seqs, job_places,
    job_priorities,
      job_concurrency, job_weights, job_wakes, job_enqueued, job_finished, job_keys, job_workers, job_parents,
      job_failures, job_unsupported, job_tags, job_machine_states, job_machine_tags, job_docs)
      AS u(known, id, rev, state, type, seq, last_seq, place, priority, concurrency, weight, wake_at, enqueued_at,
        finished_at, unique_key, worker, parent, failure, unsupported, tags, machine_states, machine_tags, doc)
    WHERE NOT u.known;
  END IF;
  IF true = ANY(job_known) THEN
    UPDATE @schema@.jobs j SET (rev, base, state, type, seq, last_seq, place, priority, concurrency, weight, wake_at,
      enqueued_at, finished_at, unique_key, worker, parent, failure, unsupported, tags, machine_states, machine_tags,
      doc)
      = (u.rev, v_base, u.state, u.type, @schema@.given(u.seq, v_base), @schema@.given(u.last_seq, v_base),
      @schema@.given(u.place, v_base), u.priority, u.concurrency, u.weight, u.wake_at, u.enqueued_at, u.finished_at,
      u.unique_key, u.worker, u.parent, u.failure, u.unsupported, u.tags::text[], u.machine_states::text[],
      u.machine_tags::text[], u.doc)
    FROM unnest(job_known, job_ids, job_revs, job_states, job_types, job_seqs, job_last_seqs, job_places,
    job_priorities,
      job_concurrency, job_weights, job_wakes, job_enqueued, job_finished, job_keys, job_workers, job_parents,
      job_failures, job_unsupported, job_tags, job_machine_states, job_machine_tags, job_docs)
      AS u(known, id, rev, state, type, seq, last_seq, place, priority, concurrency, weight, wake_at, enqueued_at,
        finished_at, unique_key, worker, parent, failure, unsupported, tags, machine_states, machine_tags, doc)
    WHERE u.known AND j.id = u.id;
  END IF;

  IF cell_kinds <> '{}' THEN
    DELETE FROM @schema@.cells c USING unnest(cell_kinds, cell_fields, cell_values) AS w(kind, field, value)
      WHERE w.value IS NULL AND c.kind = w.kind AND c.field = w.field;
    INSERT INTO @schema@.cells (kind, field, value)
      SELECT w.kind, w.field, w.value FROM unnest(cell_kinds, cell_fields, cell_values) AS w(kind, field, value)
      WHERE w.value IS NOT NULL
      ON CONFLICT (kind, field) DO UPDATE SET value = excluded.value;
  END IF;

  IF log_ids <> '{}' THEN
    INSERT INTO @schema@.log (seq, id, type, entry)
      SELECT v_base - 1 + u.number, u.id, u.type, u.entry
      FROM unnest(log_ids, log_types, log_entries) WITH ORDINALITY AS u(id, type, entry, number);
    IF v_base / 1000 <> (v_base + cardinality(log_ids)) / 1000 THEN
      DELETE FROM @schema@.log l WHERE l.seq < v_base + cardinality(log_ids) - log_max;
    END IF;
  END IF;

  INSERT INTO @schema@.moves (base, types, growth, body) VALUES (v_base, move_types, move_growth,
  move_body) RETURNING move INTO v_move;
  base := v_base;
  unfolded := v_move - (SELECT upto FROM @schema@.folds);
  RETURN NEXT;
END $$;

-- What may be claimed of a type: of each concurrency key the first jobs, and how many there are ("queued" up to one
-- more than asked for). With the documents of those that are first of all.
CREATE FUNCTION @schema@.heads(of_type text, most int)
RETURNS TABLE (concurrency text, id text, priority int, place bigint, weight float8, queued bigint, leased bigint,
  base bigint, doc text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
  RETURN QUERY WITH RECURSIVE keys AS (
    (SELECT j.concurrency AS name FROM @schema@.jobs j WHERE j.state = 'queued' AND j.type = of_type
      ORDER BY j.concurrency LIMIT 1)
    UNION ALL
    SELECT (SELECT j.concurrency FROM @schema@.jobs j WHERE j.state = 'queued' AND j.type = of_type
      AND j.concurrency > keys.name ORDER BY j.concurrency LIMIT 1)
    FROM keys WHERE keys.name IS NOT NULL)
  SELECT keys.name, f.id, f.priority, f.place, f.weight,
    (SELECT count(*) FROM (SELECT FROM @schema@.jobs j WHERE j.state = 'queued' AND j.type = of_type
      AND j.concurrency = keys.name LIMIT most + 1) q),
    CASE WHEN keys.name = '' THEN 0 ELSE (SELECT count(*) FROM @schema@.jobs j WHERE j.state IN ('running',
    'cancelling')
      AND j.concurrency <> '' AND j.type = of_type AND j.concurrency = keys.name) END,
    f.base, CASE WHEN row_number() OVER (ORDER BY f.priority DESC, f.place) <= most THEN f.doc END
  FROM keys CROSS JOIN LATERAL (
    SELECT j.id, j.priority, j.place, j.weight, j.base, j.doc FROM @schema@.jobs j
    WHERE j.state = 'queued' AND j.type = of_type AND j.concurrency = keys.name
    ORDER BY j.priority DESC, j.place LIMIT most) f
  WHERE keys.name IS NOT NULL;
END $$;

-- What most calls load, with plans that are made once. "part": -1 are rows, -2 small values, -3 and below the heads of
-- each type.
CREATE FUNCTION @schema@.load(row_ids text[], cell_kinds text[], cell_fields text[], head_types text[],
head_sizes int[])
RETURNS TABLE (part int, a text, b text, c text, n1 float8, n2 float8, n3 float8, n4 float8, n5 float8, n6 float8)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
  IF row_ids <> '{}' THEN
    RETURN QUERY SELECT -1, j.id, j.doc, NULL::text, j.base::float8, NULL::float8, NULL::float8, NULL::float8,
      NULL::float8, NULL::float8 FROM @schema@.jobs j WHERE j.id = ANY(row_ids);
  END IF;
  IF cell_kinds <> '{}' THEN
    RETURN QUERY SELECT -2, x.kind, x.field, x.value, NULL::float8, NULL::float8, NULL::float8, NULL::float8,
    NULL::float8,
      NULL::float8 FROM unnest(cell_kinds, cell_fields) AS w(kind, field)
      JOIN @schema@.cells x ON x.kind = w.kind AND x.field = w.field;
  END IF;
  FOR i IN 1 .. cardinality(head_types) LOOP
    RETURN QUERY SELECT -2 - i, h.concurrency, h.id, h.doc, h.priority::float8, h.place::float8, h.weight,
      h.queued::float8, h.leased::float8, h.base::float8 FROM @schema@.heads(head_types[i], head_sizes[i]) h;
  END LOOP;
END $$;

-- Adds what was folded by a process to the figures, if no other process has.
CREATE FUNCTION @schema@.fold(known bigint, folded bigint, types text[], backlogs bigint[], vals text[])
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
BEGIN
  PERFORM FROM @schema@.folds WHERE upto = known FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE @schema@.folds SET upto = folded;
  INSERT INTO @schema@.figures (type, backlog, value) SELECT * FROM unnest(types, backlogs, vals)
    ON CONFLICT (type) DO UPDATE SET backlog = excluded.backlog, value = excluded.value;
  DELETE FROM @schema@.moves WHERE move <= folded;
  RETURN true;
END $$;
`
