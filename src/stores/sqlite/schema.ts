/**
 * The tables, and how a file of an older version becomes one of this version. Where a state is named in SQL, the chart
 * has named it.
 *
 * A job is one row for life, numbered by its ENQUEUE. What the hot path looks for stands in partial indexes that hold
 * live jobs only: finished ones cost a claim nothing, however many are kept.
 */
import { arrows, jobStates, statesTagged, type JobState } from '../../job/lifecycle.ts'

function only(states: Iterable<string>, what: string): string {
  const [state, ...others] = states
  if (state === undefined || others.length > 0) throw new TypeError(`job.machine.ts: not exactly one state ${what}`)
  return state
}

/** The one state that jobs are claimed from. */
export const claimable = only(Object.keys(arrows('CLAIM')), 'to claim from') as JobState

const births = statesTagged('birth')
/** Where a new job goes: at once, or until its time has come. */
export const bornReady = only(
  [...births].filter((state) => state === claimable),
  'to be born into',
) as JobState
export const bornTimed = only(
  [...births].filter((state) => statesTagged('timed').has(state)),
  'to wait in',
) as JobState

/** The due time of a job that waits for an event alone: it has one, so that one index finds all that wait. */
export const never = Number.MAX_SAFE_INTEGER

/** Marks a file as ours: 'jobc'. */
export const applicationId = 0x6a6f6263

/** One step per version: the first makes version 1 of an empty file, the second version 2 of that, and so on. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE queues (
    queue INTEGER PRIMARY KEY,
    type TEXT NOT NULL UNIQUE,
    paused INTEGER NOT NULL DEFAULT 0,
    -- Has it ever had a job with a concurrency key?
    keyed INTEGER NOT NULL DEFAULT 0,
    -- Jobs in each state, written by the transaction that moves them.
    ${jobStates.map((state) => `"${state}" INTEGER NOT NULL DEFAULT 0`).join(',\n    ')}
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

  CREATE INDEX queued ON jobs (queue, concurrency_key, priority DESC, place) WHERE state = '${claimable}';
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
  `,
  `
  -- Attempts that led to a checkpoint, and so do not count. Null of a plain job: the tables below say nothing of it.
  ALTER TABLE jobs ADD COLUMN spared INTEGER;

  CREATE TABLE machines (
    job INTEGER PRIMARY KEY REFERENCES jobs,
    -- The checkpoint it stands at: its number (0 = none yet), its seq, and whether a cancel is an event there.
    number INTEGER NOT NULL,
    checkpoint INTEGER REFERENCES checkpoints,
    takes_cancel INTEGER NOT NULL,
    -- Numbers of the last letter that came, and of the last that left the inbox.
    letters INTEGER NOT NULL,
    read INTEGER NOT NULL,
    -- The id of the job that has invoked it, and whether that wants to hear of check-ins.
    parent TEXT,
    checkins INTEGER NOT NULL,
    -- Keys of the letters sent last, as JSON.
    keys TEXT
  ) STRICT;
  CREATE INDEX children ON machines (parent) WHERE parent IS NOT NULL;

  -- Each is an entry of the log, or (of a job that began with one) the ENQUEUE: so they come at the end of the table.
  CREATE TABLE checkpoints (
    seq INTEGER PRIMARY KEY,
    job INTEGER NOT NULL REFERENCES jobs,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL,
    state TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX ways ON checkpoints (job, number);

  -- Inboxes. Places are never given twice: by them other processes see what is new.
  CREATE TABLE letters (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    job INTEGER NOT NULL REFERENCES jobs,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    letter TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX inboxes ON letters (job, number);
  `,
]
