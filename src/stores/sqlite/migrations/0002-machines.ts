/** Version 2: checkpoints and inboxes of machine jobs. Frozen: released versions execute exactly this text. */
export const machines = `
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
  `
