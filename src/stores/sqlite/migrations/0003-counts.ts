/** Version 3: open until its release; what else this version changes is added at the end of this text. */
export const counts = `
  -- The queues in a new table: to add and drop its columns one by one takes half of the time in which a file is made.
  CREATE TABLE new_queues (
    queue INTEGER PRIMARY KEY,
    type TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0,
    -- Has it ever had a job with a concurrency key?
    keyed INTEGER NOT NULL DEFAULT 0,
    -- Jobs in each state, as a JSON object by the names of the states: a state that is added to the chart changes no table.
    -- A state without an entry has no jobs.
    counts TEXT NOT NULL DEFAULT '{}',
    -- How many of its jobs that have not ended have a machine in each state and with each tag, as a JSON object of two by name.
    machines TEXT NOT NULL DEFAULT '{}',
    -- The virtual clock of a queue whose concurrency keys share the claims by weight; null of other queues.
    clock REAL,
    -- The limit and the window of the last claim of a type with a rate limit per key, as text.
    key_rate TEXT,
    -- The limits per key that hold for all claims, as JSON: see core/key-terms.ts.
    key_terms TEXT,
    -- The activity in the current minute: when that began, and a number for each figure, as a JSON list. It is written with
    -- the counts. When the next minute begins, it is added to the rows of its minute and its hour.
    minute INTEGER NOT NULL DEFAULT 0,
    activity TEXT NOT NULL DEFAULT '[]'
  ) STRICT;
  INSERT INTO new_queues (queue, type, paused, keyed, counts)
    SELECT queue, type, paused, keyed, json_object('scheduled', scheduled, 'queued', queued, 'running', running,
      'retrying', retrying, 'waiting', waiting, 'cancelling', cancelling, 'done', done, 'dead', dead, 'cancelled', cancelled)
    FROM queues;
  DROP TABLE queues;
  ALTER TABLE new_queues RENAME TO queues;

  -- Of a job that waits for the end of the one before it under its unique key: when it is due itself.
  ALTER TABLE jobs ADD COLUMN due_after INTEGER;

  -- What the enqueue of a job has asked for beside the columns, as JSON; null of most jobs.
  ALTER TABLE jobs ADD COLUMN options TEXT;
  -- Live jobs that have given up their unique key.
  CREATE INDEX leaving ON jobs (queue, key) WHERE held_key IS NULL AND key IS NOT NULL AND finished_at IS NULL;

  CREATE INDEX paused ON queues (queue) WHERE paused = 1;

  -- Results of finished steps, one row each. They were a JSON object in a column of the job, which is empty from now on: to
  -- drop the column would write every row anew.
  CREATE TABLE steps (
    step INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs,
    name TEXT NOT NULL,
    result TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX names ON steps (job, name);
  INSERT INTO steps (job, name, result) SELECT jobs.seq, each.key, each.value FROM jobs, json_each(jobs.steps) AS each
    WHERE jobs.steps IS NOT NULL ORDER BY jobs.seq, each.id;
  UPDATE jobs SET steps = NULL WHERE steps IS NOT NULL;

  -- Of a job that was parked: how many ends and check-ins of its children wake it, or how many ms after the first; null = each.
  ALTER TABLE machines ADD COLUMN gather_letters INTEGER;
  ALTER TABLE machines ADD COLUMN gather_ms INTEGER;

  -- The version of its machine that a job was enqueued with. Null where an earlier jobchart has enqueued it: it begins with any.
  ALTER TABLE machines ADD COLUMN version TEXT;
  -- Of a job that was put off because no worker could run its machine: which version, why, how often and since when, as JSON.
  ALTER TABLE machines ADD COLUMN unsupported TEXT;
  CREATE INDEX unsupported ON machines (job) WHERE unsupported IS NOT NULL;

  -- Numbers of the messages that the machine has read and that stay in the inbox, as a JSON list; null = none.
  ALTER TABLE machines ADD COLUMN deferred TEXT;

  -- The data of the enqueuer, as a JSON object.
  ALTER TABLE jobs ADD COLUMN meta TEXT;

  -- Where a machine stood at its last checkpoint, as JSON: the paths of its states, and its tags. Null where there is no
  -- checkpoint, or an earlier jobchart has written it.
  ALTER TABLE machines ADD COLUMN standing TEXT;
  -- The same, row by row: jobs are found by it. A kind is 'state' or 'tag'.
  CREATE TABLE machine_names (
    job INTEGER NOT NULL REFERENCES jobs,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, name, job)
  ) STRICT, WITHOUT ROWID;

  -- Schedules: when each is due (null while it is paused or has no tick left), whether its input is made by a function, which
  -- only the processes that declare it have, and all that is known of it as JSON.
  CREATE TABLE schedules (
    schedule INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    due_at INTEGER,
    computed INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX ticks ON schedules (computed, due_at, name) WHERE due_at IS NOT NULL;

  -- Queues whose concurrency keys share the claims by weight: of each lane its start, and its finish as long as it has a queued
  -- job. Then the jobs without a key have a lane, too, with a key that no job can have.
  ALTER TABLE lanes ADD COLUMN start REAL;
  ALTER TABLE lanes ADD COLUMN finish REAL;

  -- Types with a rate limit per key: when a lane that was found without a free claim may be claimed from again; the claims of
  -- each key, how many at which time, and until when they count.
  ALTER TABLE lanes ADD COLUMN limited_until INTEGER;
  DROP INDEX open_lanes;
  CREATE INDEX open_lanes ON lanes (queue, held, priority DESC, place) WHERE place IS NOT NULL AND limited_until IS NULL;
  CREATE INDEX sharing_lanes ON lanes (queue, held, finish, priority DESC, place)
    WHERE finish IS NOT NULL AND limited_until IS NULL;
  CREATE INDEX limited_lanes ON lanes (queue, limited_until) WHERE limited_until IS NOT NULL;
  CREATE TABLE key_rates (
    queue INTEGER NOT NULL,
    concurrency_key TEXT NOT NULL,
    at INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (queue, concurrency_key, at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_claims ON key_rates (queue, at);
  CREATE INDEX spent_keys ON key_rates (queue, until);

  CREATE TABLE activity (
    queue INTEGER NOT NULL REFERENCES queues,
    -- 'minute' or 'hour'
    period TEXT NOT NULL,
    -- When the period began.
    at INTEGER NOT NULL,
    enqueued INTEGER NOT NULL,
    started INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    wait_ms INTEGER NOT NULL,
    run_ms INTEGER NOT NULL,
    PRIMARY KEY (queue, period, at)
  ) STRICT, WITHOUT ROWID;

  -- Failed attempts by type, name, code and pattern of the message, which the fingerprint stands for: how many since the first one
  -- here, how many of the jobs are dead now, and the last job and transition.
  CREATE TABLE failures (
    queue INTEGER NOT NULL REFERENCES queues,
    fingerprint TEXT NOT NULL,
    name TEXT NOT NULL,
    code TEXT,
    message TEXT NOT NULL,
    count INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    last_id TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    PRIMARY KEY (queue, fingerprint)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX latest_failures ON failures (last_seq);
  -- The fingerprint of the last error of a job; null if there is none, or an earlier jobchart has written it.
  ALTER TABLE jobs ADD COLUMN failure TEXT;
  CREATE INDEX failing ON jobs (failure, seq) WHERE failure IS NOT NULL;

  -- Bulk operations: when each has ended (null while it runs), and all that is known of it as JSON.
  CREATE TABLE bulk_operations (
    id TEXT PRIMARY KEY,
    ended_at INTEGER,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX running_bulk ON bulk_operations (id) WHERE ended_at IS NULL;

  -- How long ended jobs are kept, as JSON: those of a type, and under the empty text those of all types that are not here.
  CREATE TABLE retention (
    type TEXT PRIMARY KEY,
    policy TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  -- When the ended jobs of a queue are looked at: at once if one was added or removed, or a policy has changed, since the last look.
  CREATE TABLE looks (
    queue INTEGER PRIMARY KEY REFERENCES queues,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX next_looks ON looks (at);
  INSERT INTO looks SELECT queue, 0 FROM queues;
  -- Ended jobs of a queue in the order of their end.
  DROP INDEX ended;
  CREATE INDEX ended ON jobs (queue, state, moved) WHERE finished_at IS NOT NULL;

  -- Jobs of a queue in the order of their enqueue: those that have not ended, those in a timed state, those that have ended. Most
  -- transitions of a job leave these indexes as they are.
  CREATE INDEX live ON jobs (queue) WHERE finished_at IS NULL;
  CREATE INDEX timed ON jobs (queue, state) WHERE due_at IS NOT NULL;
  CREATE INDEX ended_of ON jobs (queue, state) WHERE finished_at IS NOT NULL;
  -- Jobs by what few jobs have, in the same order.
  CREATE INDEX with_key ON jobs (key) WHERE key IS NOT NULL;
  CREATE INDEX with_concurrency_key ON jobs (concurrency_key) WHERE concurrency_key IS NOT NULL;
  CREATE TABLE job_tags (
    tag TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (tag, job)
  ) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO job_tags (tag, job) SELECT each.value, jobs.seq FROM jobs, json_each(jobs.tags) AS each
    WHERE jobs.tags IS NOT NULL;

  -- The number of the first transition in each minute of store time: by it, times limit the jobs that a search looks at. All
  -- minutes from the first row on are here.
  CREATE TABLE minutes (
    minute INTEGER PRIMARY KEY,
    first INTEGER NOT NULL
  ) STRICT;
  INSERT INTO minutes SELECT minute, min(number) FROM (
    SELECT enqueued_at / 60000 AS minute, seq AS number FROM jobs
    UNION ALL SELECT finished_at / 60000, moved FROM jobs WHERE finished_at IS NOT NULL) GROUP BY minute;
`
