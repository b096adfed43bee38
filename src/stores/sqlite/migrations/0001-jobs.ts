/** Version 1: jobs, queues, the transition log, workers. Frozen: released versions execute exactly this text. */
export const jobs = `
  CREATE TABLE queues (
    queue INTEGER PRIMARY KEY,
    type TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0,
    -- Has it ever had a job with a concurrency key?
    keyed INTEGER NOT NULL DEFAULT 0,
    -- Jobs in each state, written by the transaction that moves them.
    "scheduled" INTEGER NOT NULL DEFAULT 0,
    "queued" INTEGER NOT NULL DEFAULT 0,
    "running" INTEGER NOT NULL DEFAULT 0,
    "retrying" INTEGER NOT NULL DEFAULT 0,
    "waiting" INTEGER NOT NULL DEFAULT 0,
    "cancelling" INTEGER NOT NULL DEFAULT 0,
    "done" INTEGER NOT NULL DEFAULT 0,
    "dead" INTEGER NOT NULL DEFAULT 0,
    "cancelled" INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue INTEGER NOT NULL REFERENCES queues,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    -- Where it stands among the queued ones of its priority.
    place INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    -- Times are milliseconds since the epoch. When a timed state ends; when a lease runs out; null in all other states. Indexes
    -- have such simple conditions because all of them are asked whenever a row is written.
    due_at INTEGER,
    lease_at INTEGER,
    token TEXT,
    worker TEXT,
    enqueued_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    -- seq of its last move.
    moved INTEGER NOT NULL,
    -- The unique key it has, and the one it holds: null as soon as the key is free for others.
    key TEXT,
    held_key TEXT,
    concurrency_key TEXT,
    -- JSON from here on; null where there is nothing.
    input TEXT,
    tags TEXT,
    output TEXT,
    error TEXT,
    errors TEXT,
    checkin TEXT,
    logs TEXT,
    steps TEXT,
    cancel TEXT,
    -- The last settled attempt and what was answered, unless it ended the job: then token and history tell.
    settled TEXT,
    -- Where it was born, then its moves, oldest first, without the brackets around them.
    history TEXT NOT NULL
  ) STRICT;

  CREATE INDEX queued ON jobs (queue, concurrency_key, priority DESC, place) WHERE state = 'queued';
  CREATE INDEX due ON jobs (due_at, seq) WHERE due_at IS NOT NULL;
  CREATE INDEX leases ON jobs (lease_at, seq) WHERE lease_at IS NOT NULL;
  CREATE INDEX ended ON jobs (state, moved) WHERE finished_at IS NOT NULL;
  CREATE UNIQUE INDEX holders ON jobs (queue, held_key) WHERE held_key IS NOT NULL;

  -- One row per concurrency key that has jobs queued or held: how many are held, and the first that is queued.
  CREATE TABLE lanes (
    queue INTEGER NOT NULL,
    concurrency_key TEXT NOT NULL,
    held INTEGER NOT NULL,
    priority INTEGER,
    place INTEGER,
    PRIMARY KEY (queue, concurrency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX open_lanes ON lanes (queue, held, priority DESC, place) WHERE place IS NOT NULL;

  -- Claims of types with a rate limit: how many at which time, and until when they count.
  CREATE TABLE rates (
    queue INTEGER NOT NULL,
    at INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (queue, at)
  ) STRICT, WITHOUT ROWID;

  -- The transition log: the moves of one transaction in a row, as JSON.
  CREATE TABLE log (
    last INTEGER PRIMARY KEY,
    first INTEGER NOT NULL,
    at INTEGER NOT NULL,
    moves TEXT NOT NULL
  ) STRICT;

  CREATE TABLE workers (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    info TEXT NOT NULL,
    seen_at INTEGER NOT NULL
  ) STRICT;
  `
