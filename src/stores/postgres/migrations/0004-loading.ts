/** What calls load by functions, whose plans are made once. `@schema@` is the quoted name of the schema. */
export const loading = `
-- What may be claimed of a type, with the documents of those that may come first. Plain jobs have no key. "told" says
-- how many with concurrency keys: 'first' are those that come first of all, up to where as many as asked for may run
-- if at most "per_key" of a key do, and those before them that have to wait for others of their key. If too few may,
-- or for 'keys', of many keys some twice as many in all as asked for, and two of each; for 'all' as many of each key.
-- "queued": how many are of the key, as far as was looked. "is_part": some with keys that come later are not told.
CREATE FUNCTION @schema@.heads(of_type text, most int, told text, per_key int)
RETURNS TABLE (concurrency text, id text, priority int, place bigint, weight float8, queued bigint, leased bigint,
  is_part boolean, base bigint, doc text, facts text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET jit = off
AS $$
DECLARE
  v_front bigint := @schema@.front(of_type);
  v_queued bigint := @schema@.queued_from(of_type, NULL);
  v_listed int := 16 + 4 * most;
BEGIN
  RETURN QUERY SELECT '', f.id, f.priority, f.place, f.weight, f.queued, 0::bigint, false, s.base, s.doc, s.facts
  FROM (SELECT o.*, count(*) OVER () AS queued FROM (
      (SELECT j.seq, j.id, j.priority, j.place, j.weight FROM @schema@.jobs j
        WHERE j.state = 'queued' AND j.place >= v_queued AND j.type = of_type AND j.concurrency = ''
        ORDER BY j.priority DESC, j.place LIMIT most + 1)
      UNION ALL
      (SELECT j.seq, j.id, 0, j.seq, 1 FROM @schema@.jobs j
        WHERE j.plain AND j.type = of_type AND j.seq > v_front ORDER BY j.seq LIMIT most + 1)) o
    ORDER BY o.priority DESC, o.place LIMIT most) f
  CROSS JOIN LATERAL (SELECT o.base, o.doc, o.facts FROM @schema@.standing o WHERE o.seq = f.seq LIMIT 1) s;
  IF v_queued IS NULL THEN RETURN; END IF;

  IF told = 'first' THEN
    RETURN QUERY WITH listed AS MATERIALIZED (
      SELECT j.seq, j.concurrency, j.id, j.priority, j.place, j.weight FROM @schema@.jobs j
      WHERE j.state = 'queued' AND j.concurrency <> '' AND j.type = of_type AND j.place >= v_queued
      ORDER BY j.priority DESC, j.place LIMIT v_listed + 1),
    turned AS (SELECT l.*, row_number() OVER (PARTITION BY l.concurrency ORDER BY l.priority DESC, l.place) AS turn
      FROM listed l),
    -- What is known of a key is counted once, and not for each of its jobs.
    counted AS (SELECT t.*, count(*) OVER of_key AS queued, max(CASE WHEN t.turn = 1 THEN (
          SELECT count(*) FROM @schema@.jobs j WHERE j.state IN ('running', 'cancelling') AND j.concurrency <> ''
            AND j.type = of_type AND j.concurrency = t.concurrency) END) OVER of_key AS leased
      FROM turned t WINDOW of_key AS (PARTITION BY t.concurrency)),
    opened AS (SELECT c.*, (c.turn <= per_key - c.leased)::int AS open FROM counted c),
    summed AS MATERIALIZED (SELECT o.*, sum(o.open) OVER () AS opens, count(*) OVER () > v_listed AS is_part,
        sum(o.open) OVER (ORDER BY o.priority DESC, o.place) AS rank FROM opened o)
    SELECT m.concurrency, m.id, m.priority, m.place, m.weight, m.queued, m.leased, m.is_part, s.base, s.doc, s.facts
    FROM summed m LEFT JOIN LATERAL (SELECT o.base, o.doc, o.facts FROM @schema@.standing o
      WHERE o.seq = m.seq AND m.open = 1 LIMIT 1) s ON true
    WHERE m.turn <= per_key AND m.rank - m.open < most AND (m.opens >= most OR NOT m.is_part);
    IF FOUND THEN RETURN; END IF;
  END IF;

  RETURN QUERY WITH RECURSIVE keys AS (
    SELECT '' COLLATE "C" AS name
    UNION ALL
    SELECT (SELECT j.concurrency FROM @schema@.jobs j WHERE j.state = 'queued' AND j.place >= v_queued
      AND j.type = of_type AND j.concurrency > keys.name ORDER BY j.concurrency LIMIT 1)
    FROM keys WHERE keys.name IS NOT NULL),
  counted AS MATERIALIZED (SELECT keys.name, (
      SELECT count(*) FROM @schema@.jobs j WHERE j.state IN ('running', 'cancelling') AND j.concurrency <> ''
        AND j.type = of_type AND j.concurrency = keys.name) AS leased
    FROM keys WHERE keys.name > ''),
  each AS MATERIALIZED (SELECT CASE told WHEN 'all' THEN most ELSE least(most, 2 + 2 * most / (1 + count(*)::int)) END
    AS size FROM counted),
  first AS MATERIALIZED (SELECT c.name, c.leased, f.*, row_number() OVER (ORDER BY f.priority DESC, f.place) AS rank,
      row_number() OVER (PARTITION BY c.name ORDER BY f.priority DESC, f.place) AS turn,
      count(*) OVER (PARTITION BY c.name) AS queued
    FROM counted c CROSS JOIN LATERAL (
      SELECT j.seq, j.id, j.priority, j.place, j.weight FROM @schema@.jobs j
      WHERE j.state = 'queued' AND j.place >= v_queued AND j.type = of_type AND j.concurrency = c.name
      ORDER BY j.priority DESC, j.place LIMIT (SELECT e.size FROM each e) + 1) f)
  SELECT first.name, first.id, first.priority, first.place, first.weight, first.queued, first.leased, false, s.base, s.doc,
    s.facts
  FROM first LEFT JOIN LATERAL (SELECT o.base, o.doc, o.facts FROM @schema@.standing o
    WHERE o.seq = first.seq AND first.rank <= most LIMIT 1) s ON true
  WHERE first.turn <= (SELECT e.size FROM each e);
END $$;

-- What most calls load, with plans that are made once. "part": -1 are rows, -2 small values, -3 and below the heads of
-- each type.
CREATE FUNCTION @schema@.load(row_ids text[], cell_kinds text[], cell_fields text[], head_types text[],
head_sizes int[], head_told text[], head_keys int[])
RETURNS TABLE (part int, a text, b text, c text, d text, n1 float8, n2 float8, n3 float8, n4 float8, n5 float8, n6 float8,
  is_part boolean)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
  IF row_ids <> '{}' THEN
    RETURN QUERY SELECT -1, s.id, NULL::text, s.doc, s.facts, s.base::float8, NULL::float8, NULL::float8, NULL::float8,
      NULL::float8, NULL::float8, NULL::boolean FROM @schema@.standing s WHERE s.id = ANY(row_ids);
  END IF;
  IF cell_kinds <> '{}' THEN
    RETURN QUERY SELECT -2, x.kind, x.field, x.value, NULL::text, NULL::float8, NULL::float8, NULL::float8, NULL::float8,
      NULL::float8, NULL::float8, NULL::boolean FROM unnest(cell_kinds, cell_fields) AS w(kind, field)
      CROSS JOIN LATERAL (SELECT c.kind, c.field, c.value FROM @schema@.cells c
        WHERE c.kind = w.kind AND c.field = w.field LIMIT 1) x;
  END IF;
  FOR i IN 1 .. cardinality(head_types) LOOP
    RETURN QUERY SELECT -2 - i, h.concurrency, h.id, h.doc, h.facts, h.base::float8, h.priority::float8, h.place::float8,
      h.weight, h.queued::float8, h.leased::float8, h.is_part
      FROM @schema@.heads(head_types[i], head_sizes[i], head_told[i], head_keys[i]) h;
  END LOOP;
END $$;
`
