/** Version 1: open until its release; what it changes is changed in this text. */
export const jobs = `
  CREATE TABLE queues (
    queue INTEGER PRIMARY KEY,
    type TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0,
    -- Has it ever had a job with a concurrency key?
    keyed INTEGER NOT NULL DEFAULT 0,
    -- Jobs in each state, as a JSON object by the names of the states: a state that is added to the chart changes no
    -- table. A state without an entry has no jobs. Written by the transaction that moves the jobs.
    counts TEXT NOT NULL DEFAULT '{}',
    -- How many of its jobs that have not ended have a machine in each state and with each tag, as a JSON object of two
    -- by name.
    machines TEXT NOT NULL DEFAULT '{}',
    -- The virtual clock of a queue whose concurrency keys share the claims by weight; null of other queues.
    clock REAL,
    -- The limit and the window of the last claim of a type with a rate limit per key, as text.
    key_rate TEXT,
    -- The limits per key that hold for all claims, as JSON: see core/key-terms.ts.
    key_terms TEXT,
    -- The activity in the current minute: when that began, and a number for each figure, as a JSON list. It is written
    -- with the counts. When the next minute begins, it is added to the rows of its minute and its hour.
    minute INTEGER NOT NULL DEFAULT 0,
    activity TEXT NOT NULL DEFAULT '[]',
    -- Of its jobs without a concurrency key that wait, those up to this rank and place were claimed: their rows are
    -- removed many at once. Null: none.
    front_rank INTEGER,
    front_place INTEGER
  ) STRICT;
  CREATE INDEX paused ON queues (queue) WHERE paused = 1;

  -- What an enqueue has given. Most rows are written once, and removed with the job.
  CREATE TABLE jobs (
    -- The number of its ENQUEUE.
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue INTEGER NOT NULL REFERENCES queues,
    priority INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    -- Times are milliseconds since the epoch.
    enqueued_at INTEGER NOT NULL,
    -- JSON, and null where there is nothing, but for the keys.
    input TEXT,
    key TEXT,
    concurrency_key TEXT,
    tags TEXT,
    -- The data of the enqueuer, as an object.
    meta TEXT,
    -- What the enqueue has asked for beside the columns.
    options TEXT
  ) STRICT;
  -- Jobs by what few jobs have, in the order of their enqueue.
  CREATE INDEX with_key ON jobs (key) WHERE key IS NOT NULL;
  CREATE INDEX with_concurrency_key ON jobs (concurrency_key) WHERE concurrency_key IS NOT NULL;

  -- What has become of a job, as far as its enqueue and an open claim do not tell it: most jobs get this row when they
  -- end. A job without one is queued, or runs if a claim has it. A job whose row says that it is leased runs under its
  -- claim as the row says; any other job of a claim has made one more transition than its row says, the CLAIM.
  CREATE TABLE lives (
    job INTEGER PRIMARY KEY REFERENCES jobs,
    state TEXT NOT NULL,
    -- Null if the job was queued by its ENQUEUE and completed in its first attempt. Otherwise its first state, then its
    -- transitions, oldest first, as JSON without the brackets around them.
    history TEXT,
    -- The number of the CLAIM, where the history is null.
    claimed_seq INTEGER,
    -- The number of its last transition.
    last_seq INTEGER NOT NULL,
    token TEXT,
    worker TEXT,
    started_at INTEGER,
    finished_at INTEGER,
    output TEXT,
    -- Where the history is null, queue, place, attempt and generation are null, too, as they follow from it. The place
    -- is where it stands among the queued ones of its priority.
    queue INTEGER,
    place INTEGER,
    attempt INTEGER,
    generation INTEGER,
    -- When a timed state ends.
    due_at INTEGER,
    -- The unique key that it holds, and the one that it has given up before its end.
    held_key TEXT,
    left_key TEXT,
    -- Of a job that waits for the end of the one before it under its unique key: when it is due itself.
    due_after INTEGER,
    -- JSON; null where there is nothing.
    error TEXT,
    errors TEXT,
    checkin TEXT,
    logs TEXT,
    cancel TEXT,
    -- The last settled attempt and what was answered, unless it ended the job: then token and history tell.
    settled TEXT,
    -- Attempts that led to a checkpoint, and so do not count. Null of a plain job: no table of machines has it.
    checkpointed_attempts INTEGER,
    -- The fingerprint of its last error; null if there is none.
    failure TEXT
  ) STRICT;
  -- Indexes have such simple conditions because all of them are asked whenever a row is written.
  CREATE INDEX due ON lives (due_at, job) WHERE due_at IS NOT NULL;
  CREATE INDEX timed ON lives (queue, state) WHERE due_at IS NOT NULL;
  CREATE UNIQUE INDEX holders ON lives (queue, held_key) WHERE held_key IS NOT NULL;
  CREATE INDEX leaving ON lives (queue, left_key) WHERE left_key IS NOT NULL;
  CREATE INDEX failing ON lives (failure) WHERE failure IS NOT NULL;

  -- The queued jobs, in the order of their claims, and claimed ones up to the front of their queue. A rank is a
  -- priority with the other sign; a job without a concurrency key has the empty one.
  CREATE TABLE waiting (
    queue INTEGER NOT NULL,
    concurrency_key TEXT NOT NULL,
    rank INTEGER NOT NULL,
    place INTEGER NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (queue, concurrency_key, rank, place)
  ) STRICT, WITHOUT ROWID;

  -- The leases. What the jobs of one claim share is a row, as long as one of them is leased: a JSON list of the jobs in
  -- the order of their CLAIMs, which are numbered from first on; 0 stands for a job that this row has no lease of (any
  -- more). A heartbeat for some of the jobs moves their leases to a row of their own.
  CREATE TABLE claims (
    -- The number of its first CLAIM, or a negative one.
    claim INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    token TEXT NOT NULL,
    worker TEXT NOT NULL,
    at INTEGER NOT NULL,
    lease_at INTEGER NOT NULL,
    jobs TEXT NOT NULL
  ) STRICT;

  -- The jobs that a transaction has ended, as a JSON list, with the number of its last transition; and how many of them
  -- in turn are of which queue and state. From here they come into the two tables below, many at once.
  CREATE TABLE ends (
    last INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    jobs TEXT NOT NULL,
    groups TEXT NOT NULL
  ) STRICT;
  -- The ended jobs of a queue and state in the order of their ends, some hundred in a JSON list: a negative number is
  -- the time of the ends after it. last is not less than the number of the last end in the row.
  CREATE TABLE ended (
    queue INTEGER NOT NULL,
    state TEXT NOT NULL,
    last INTEGER NOT NULL,
    jobs TEXT NOT NULL,
    PRIMARY KEY (queue, state, last)
  ) STRICT, WITHOUT ROWID;
  -- Jobs of a queue in the order of their enqueue, for searches: the ended ones in each state, which come here from
  -- ends, and queued ones that do not wait in that order, as they have a concurrency key or a place of their own.
  CREATE TABLE listed (
    queue INTEGER NOT NULL,
    state TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (queue, state, job)
  ) STRICT, WITHOUT ROWID;

  -- Rows of jobs that cannot be read, because something else has changed the file.
  CREATE TABLE jobs_aside AS SELECT * FROM jobs WHERE FALSE;
  CREATE UNIQUE INDEX aside_by_number ON jobs_aside (seq);
  CREATE TABLE lives_aside AS SELECT * FROM lives WHERE FALSE;
  CREATE UNIQUE INDEX lives_aside_by_number ON lives_aside (job);
  CREATE TABLE job_tags (
    tag TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (tag, job)
  ) STRICT, WITHOUT ROWID;
  -- The members of meta by which jobs are found: texts of 200 characters at most, and whole numbers, as text.
  CREATE TABLE job_meta (
    value TEXT NOT NULL,
    name TEXT NOT NULL,
    -- 'text' or 'integer'
    type TEXT NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (value, name, type, job)
  ) STRICT, WITHOUT ROWID;

  -- Results of finished steps, one row each.
  CREATE TABLE steps (
    step INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs,
    name TEXT NOT NULL,
    result TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX names ON steps (job, name);

  -- One row per concurrency key that has jobs queued or leased: how many are leased, and the first that is queued.
  CREATE TABLE key_groups (
    queue INTEGER NOT NULL,
    concurrency_key TEXT NOT NULL,
    leased INTEGER NOT NULL,
    priority INTEGER,
    place INTEGER,
    -- Queues whose concurrency keys share the claims by weight: its start, and its finish as long as it has a queued
    -- job. Then the jobs without a key have a row, too, with a key that no job can have.
    start REAL,
    finish REAL,
    -- Types with a rate limit per key: when a key that was found without a free claim may be claimed from again.
    limited_until INTEGER,
    PRIMARY KEY (queue, concurrency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX open_key_groups ON key_groups (queue, leased, priority DESC, place) WHERE place IS NOT NULL AND limited_until IS NULL;
  CREATE INDEX sharing_key_groups ON key_groups (queue, leased, finish, priority DESC, place)
    WHERE finish IS NOT NULL AND limited_until IS NULL;
  CREATE INDEX limited_key_groups ON key_groups (queue, limited_until) WHERE limited_until IS NOT NULL;

  -- Claims of types with a rate limit: how many at which time, until when they count, and how many with those of all
  -- earlier times: so those of a window are known from two rows. The same of each concurrency key.
  CREATE TABLE rates (
    queue INTEGER NOT NULL,
    at INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    until INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (queue, at)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE key_rates (
    queue INTEGER NOT NULL,
    concurrency_key TEXT NOT NULL,
    at INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    until INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (queue, concurrency_key, at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_claims ON key_rates (queue, at);
  CREATE INDEX spent_keys ON key_rates (queue, until);

  -- The transition log: the transitions of one transaction in a row, as JSON.
  CREATE TABLE log (
    last INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    at INTEGER NOT NULL,
    transitions TEXT NOT NULL
  ) STRICT;
  -- The ids of jobs that are gone, as long as the log has transitions of them; with the number of the last.
  CREATE TABLE gone (
    job INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    last INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX leaving_the_log ON gone (last);
  -- The number of the first transition in each minute of store time: by it, times limit the jobs that a search looks
  -- at. All minutes from the first row on are here.
  CREATE TABLE minutes (
    minute INTEGER PRIMARY KEY,
    first INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE workers (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    info TEXT NOT NULL,
    seen_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE machines (
    job INTEGER PRIMARY KEY REFERENCES jobs,
    -- Its last checkpoint: its number (0 = none yet), its seq, and whether a cancel is an event there.
    number INTEGER NOT NULL,
    checkpoint INTEGER REFERENCES checkpoints,
    takes_cancel INTEGER NOT NULL,
    -- Numbers of the last message that came, and of the last that was read.
    last_message INTEGER NOT NULL,
    last_read INTEGER NOT NULL,
    -- The id of the job that has invoked it, and whether that wants to hear of check-ins.
    parent TEXT,
    checkins INTEGER NOT NULL,
    -- Keys of the messages sent last, as JSON.
    keys TEXT,
    -- Of a job that was parked: how many ends and check-ins of its children wake it, or how many ms after the first;
    -- null = each.
    gather_messages INTEGER,
    gather_ms INTEGER,
    -- The version of its machine that the job was enqueued with; null where it is not known: it begins with any.
    version TEXT,
    -- Of a job that was put off because no worker could run its machine: which version, why, how often and since when,
    -- as JSON.
    unsupported TEXT,
    -- Numbers of the messages that the machine has read and that stay in the inbox, as a JSON list; null = none.
    deferred TEXT,
    -- The paths of its states at the last checkpoint, and its tags, as JSON. Null without a checkpoint.
    standing TEXT
  ) STRICT;
  CREATE INDEX children ON machines (parent) WHERE parent IS NOT NULL;
  CREATE INDEX unsupported ON machines (job) WHERE unsupported IS NOT NULL;
  -- Its states and tags again, row by row: jobs are found by it. A kind is 'state' or 'tag'.
  CREATE TABLE machine_names (
    job INTEGER NOT NULL REFERENCES jobs,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (kind, name, job)
  ) STRICT, WITHOUT ROWID;

  -- Each is an entry of the log, or (of a job that began with one) the ENQUEUE: so they come at the end of the table.
  CREATE TABLE checkpoints (
    seq INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL,
    state TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX checkpoints_of ON checkpoints (job, number);

  -- Inboxes. Places are never given twice: by them other processes see what is new.
  CREATE TABLE messages (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    job INTEGER NOT NULL REFERENCES jobs,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    message TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX inboxes ON messages (job, number);

  -- Schedules: when each is due (null while it is paused or has no tick left), whether its input is made by a function,
  -- which only the processes that declare it have, and all that is known of it as JSON.
  CREATE TABLE schedules (
    schedule INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    due_at INTEGER,
    computed INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX ticks ON schedules (computed, due_at, name) WHERE due_at IS NOT NULL;

  CREATE TABLE activity (
    -- 0 stands for all queues together: the minutes of each are added to it when they end.
    queue INTEGER NOT NULL,
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

  -- The heat of charts: how often each name was counted in each hour, and the job that has counted it last.
  CREATE TABLE heat (
    queue INTEGER NOT NULL REFERENCES queues,
    -- When the hour began.
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    last_id TEXT NOT NULL,
    PRIMARY KEY (queue, at, name)
  ) STRICT, WITHOUT ROWID;
  -- What is kept of a day is in its first hour.
  CREATE INDEX hours_of_heat ON heat (at) WHERE at % 86400000 <> 0;
  CREATE INDEX days_of_heat ON heat (at) WHERE at % 86400000 = 0;

  -- Failed attempts by type, name, code and pattern of the message, which the fingerprint stands for: how many since
  -- the first one here, how many of the jobs are dead now, and the last job and transition.
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

  -- Groups of failures that people have put together, all of them as JSON.
  CREATE TABLE failure_merges (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    merges TEXT NOT NULL
  ) STRICT;

  -- Bulk operations: when each has ended (null while it runs), and all that is known of it as JSON.
  CREATE TABLE bulk_operations (
    id TEXT PRIMARY KEY,
    ended_at INTEGER,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX running_bulk ON bulk_operations (id) WHERE ended_at IS NULL;

  -- How long ended jobs are kept, as JSON: those of a type, and under the empty text those of all types that are not
  -- here.
  CREATE TABLE retention (
    type TEXT PRIMARY KEY,
    policy TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  -- When the ended jobs of a queue are looked at: at once if one was added or removed, or a policy has changed, since
  -- the last look.
  CREATE TABLE looks (
    queue INTEGER PRIMARY KEY REFERENCES queues,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX next_looks ON looks (at);
`
