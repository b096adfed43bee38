/** Calls within transactions of users. `@schema@` is the quoted name of the schema. */
export const transactions = String.raw`
-- Tells this store from one of the same name in another database.
INSERT INTO @schema@.meta (name, value) VALUES ('store', gen_random_uuid()::text);

CREATE SEQUENCE @schema@.intents;

-- Keeps intents, a JSON array, in the transaction: a new row, which nobody else knows. Its value is written as all
-- small values are: with escapes, if it has a backslash.
-- "fenced_job": the job whose lease they depend on, or null. "ends": do they end it? An attempt has one such fence: two
-- transactions cannot both end it, not even if the second one has a snapshot that lacks the first. Returns the
-- transaction, and the subtransaction that the row belongs to: xid8 and xid.
CREATE FUNCTION @schema@.keep_intents(intents text, fenced_job text, ends boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_number text := lpad(nextval('@schema@.intents')::text, 20, '0');
  v_value text := '{"number":"' || v_number || '","intents":' || intents::json::text || '}';
  v_row text;
BEGIN
  IF json_typeof(intents::json) <> 'array' THEN RAISE 'intents: expected an array'; END IF;
  IF position(chr(92) IN v_value) > 0 THEN v_value := substr(to_json(v_value)::text, 2, length(to_json(v_value)::text) - 2); END IF;
  INSERT INTO @schema@.cells (kind, field, value) VALUES ('intents', v_number, v_value) RETURNING xmin::text INTO v_row;
  IF fenced_job IS NOT NULL THEN
    INSERT INTO @schema@.cells (kind, field, value)
      VALUES ('fences', fenced_job || ' ' || CASE WHEN ends THEN 'end' ELSE v_number END, fenced_job)
      ON CONFLICT (kind, field) DO NOTHING;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'JC005', MESSAGE = 'jobchart NOT_ACCEPTED: the end of the attempt was written before';
    END IF;
  END IF;
  RETURN pg_current_xact_id()::text || ' ' || v_row;
END $$;

-- For clients of jobchart. "request": the id of the store, a space and the id of the transaction, if it is known; then
-- a line feed and, if the intents depend on a lease, its job, its token, and whether they end it, as a JSON array; then
-- a line feed and the intents. The row of the job is held until the transaction has ended: its lease is then extended
-- by others, and not ended. One transaction at a time ends an attempt; another one is refused and does not wait: one
-- handler may have both open. When the first one has ended, the second one finds its fence, or that the job is not
-- running any more.
CREATE FUNCTION @schema@.within(request text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_head text := split_part(request, E'\n', 1);
  v_store text := split_part(v_head, ' ', 1);
  v_xid text := split_part(v_head, ' ', 2);
  v_lease text := split_part(request, E'\n', 2);
  v_job text := nullif(v_lease, '')::json ->> 0;
  v_ends boolean := coalesce((nullif(v_lease, '')::json ->> 2)::boolean, false);
BEGIN
  IF NOT EXISTS (SELECT FROM @schema@.meta m WHERE m.name = 'store' AND m.value = v_store) THEN
    RAISE EXCEPTION USING ERRCODE = 'JC001', MESSAGE = 'jobchart TX_OTHER_DATABASE: the schema of this database is of another store';
  END IF;
  IF v_xid <> '' AND v_xid <> pg_current_xact_id()::text THEN
    RAISE EXCEPTION USING ERRCODE = 'JC002', MESSAGE = 'jobchart TX_NOT_OPEN: the transaction has ended';
  END IF;
  IF v_job IS NOT NULL THEN
    IF v_ends AND NOT pg_try_advisory_xact_lock(hashtextextended('@schema@ jobchart end ' || v_job, 0)) THEN
      RAISE EXCEPTION USING ERRCODE = 'JC005', MESSAGE = 'jobchart NOT_ACCEPTED: another transaction ends the attempt';
    END IF;
    PERFORM FROM @schema@.jobs j
    WHERE j.id = v_job AND CASE WHEN j.plain
      THEN EXISTS (SELECT FROM @schema@.claims c WHERE c.token = v_lease::json ->> 1 AND j.seq = ANY(c.jobs))
      ELSE j.state = 'running' AND position(v_lease::json ->> 1 IN j.doc) > 0 END FOR KEY SHARE;
    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'JC004', MESSAGE = 'jobchart LEASE_LOST: the attempt does not have the job any more';
    END IF;
  END IF;
  RETURN @schema@.keep_intents(substr(request, length(v_head) + length(v_lease) + 3), v_job, v_ends);
END $$;

-- The transaction that it is called in.
CREATE FUNCTION @schema@.transaction_id(ignored text) RETURNS text LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$ SELECT pg_current_xact_id()::text $$;

-- How long a text is for JavaScript, whose strings have two units for a character that takes four bytes in UTF-8.
CREATE FUNCTION @schema@.units(of_text text) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT length(of_text) + length(regexp_replace(of_text, '[^\U00010000-\U0010FFFF]', '', 'g'))
$$;

-- For everybody: enqueues a job, with the transaction that calls it. "job": a JSON object with "type", and optionally
-- "input", "id", "priority", "tags", "meta", "delay" (ms) or "runAt" (ms since the epoch), "key" (unique within the
-- type) and "maxAttempts". Returns the id of the job.
CREATE FUNCTION @schema@.enqueue(job text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v json := job::json;
  v_id text;
  v_wrong text;
  v_run_at text := 'null';
BEGIN
  IF json_typeof(v) <> 'object' THEN
    RAISE EXCEPTION USING ERRCODE = 'JC003', MESSAGE = 'jobchart INVALID_OPTION: expected a JSON object';
  END IF;
  SELECT string_agg(m.key, ', ') INTO v_wrong FROM json_each(v) AS m(key, value)
  WHERE json_typeof(m.value) <> 'null' AND NOT CASE
    -- No payload: deeper than 100 levels, or with a number that is infinite in JavaScript.
    WHEN m.key IN ('input', 'meta') AND (
      jsonb_path_exists(m.value::jsonb, 'strict $.**{100} ? (@.type() == "array" || @.type() == "object")')
      OR jsonb_path_exists(m.value::jsonb, 'strict $.** ? (@.type() == "number" && (@ > 1.797693134862315807e308 || @ < -1.797693134862315807e308))')
    ) THEN false
    WHEN m.key = 'input' THEN octet_length(m.value::text) <= 1048576
    WHEN m.key = 'type' THEN json_typeof(m.value) = 'string' AND @schema@.units(m.value #>> '{}') BETWEEN 1 AND 200
    WHEN m.key = 'id' THEN json_typeof(m.value) = 'string' AND @schema@.units(m.value #>> '{}') BETWEEN 1 AND 200
    WHEN m.key = 'key' THEN json_typeof(m.value) = 'string' AND @schema@.units(m.value #>> '{}') BETWEEN 1 AND 500
    WHEN m.key = 'meta' THEN json_typeof(m.value) = 'object' AND octet_length(m.value::text) <= 16384
    WHEN m.key = 'tags' THEN CASE WHEN json_typeof(m.value) = 'array' THEN json_array_length(m.value) <= 20
      AND NOT EXISTS (SELECT FROM json_array_elements(m.value) AS t(tag)
        WHERE json_typeof(t.tag) <> 'string' OR @schema@.units(t.tag #>> '{}') NOT BETWEEN 1 AND 200) ELSE false END
    WHEN m.key IN ('priority', 'delay', 'runAt', 'maxAttempts') THEN CASE
      WHEN json_typeof(m.value) <> 'number' OR m.value::text !~ '^-?[0-9]{1,15}$' THEN false
      WHEN m.key = 'priority' THEN m.value::text::bigint BETWEEN -2147483647 AND 2147483647
      WHEN m.key = 'maxAttempts' THEN m.value::text::bigint BETWEEN 1 AND 1000000
      WHEN m.key = 'delay' THEN m.value::text::bigint BETWEEN 0 AND 3153600000000
      ELSE m.value::text::bigint BETWEEN 10000000000 AND extract(epoch FROM clock_timestamp()) * 1000 + 3153600000000 END
    ELSE false END;
  IF v ->> 'delay' IS NOT NULL AND v ->> 'runAt' IS NOT NULL THEN v_wrong := concat_ws(', ', v_wrong, 'runAt beside delay'); END IF;
  IF coalesce(json_typeof(v -> 'type'), 'null') = 'null' THEN v_wrong := concat_ws(', ', v_wrong, 'type'); END IF;
  IF v_wrong IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'JC003', MESSAGE = 'jobchart INVALID_OPTION: unknown, missing or invalid: ' || v_wrong;
  END IF;
  v_id := coalesce(v ->> 'id', replace(gen_random_uuid()::text, '-', ''));
  IF v ->> 'delay' IS NOT NULL THEN
    v_run_at := ((extract(epoch FROM clock_timestamp()) * 1000)::bigint + (v ->> 'delay')::bigint)::text;
  ELSIF v ->> 'runAt' IS NOT NULL THEN
    v_run_at := v ->> 'runAt';
  END IF;
  PERFORM @schema@.keep_intents('[{"kind":"insert","request":{"capacity":null,"jobs":[{"id":' || to_json(v_id)::text
    || ',"type":' || (v -> 'type')::text
    || CASE WHEN v -> 'input' IS NULL THEN '' ELSE ',"input":' || (v -> 'input')::text END
    || CASE WHEN v ->> 'meta' IS NULL THEN '' ELSE ',"meta":' || (v -> 'meta')::text END
    || CASE WHEN v ->> 'maxAttempts' IS NULL THEN '' ELSE ',"pins":{"maxAttempts":' || (v ->> 'maxAttempts') || '}' END
    || ',"maxAttempts":' || coalesce(v ->> 'maxAttempts', '3')
    || ',"priority":' || coalesce(v ->> 'priority', '0')
    || ',"tags":' || CASE WHEN v ->> 'tags' IS NULL THEN '[]' ELSE (v -> 'tags')::text END
    || ',"key":' || CASE WHEN v ->> 'key' IS NULL THEN 'null' ELSE (v -> 'key')::text END
    || ',"concurrencyKey":null,"runAt":' || v_run_at || ',"delayMs":0,"onConflict":"keep"}]}}]', NULL, false);
  RETURN v_id;
END $$;

-- What has become of transactions: xid8 values. One of which this server knows nothing, because it has lost its last
-- commits, is rolled back.
CREATE FUNCTION @schema@.fates(transactions text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  v_xid text;
  v_fates text[] := '{}';
BEGIN
  FOREACH v_xid IN ARRAY transactions LOOP
    BEGIN
      v_fates := v_fates || coalesce(pg_xact_status(v_xid::xid8), 'unknown');
    EXCEPTION WHEN invalid_parameter_value THEN
      v_fates := v_fates || 'aborted'::text;
    END;
  END LOOP;
  RETURN v_fates;
END $$;

REVOKE ALL ON FUNCTION @schema@.keep_intents(text, text, boolean), @schema@.within(text), @schema@.transaction_id(text),
  @schema@.enqueue(text), @schema@.fates(text[]), @schema@.units(text) FROM PUBLIC;
`
