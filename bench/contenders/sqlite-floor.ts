/**
 * The floor: what one would write by hand in plain SQL and then make fast, on the driver and with the durability that
 * are also ours (node:sqlite, WAL, synchronous=FULL). No leases, history, retries, priorities or events: a job is a row
 * that changes its state twice, and a crash leaves those that ran running. The ends of a batch and the claim of the
 * next are one transaction.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Handler, Input } from '../contender.ts'
import type { OpenQueue, EnqueueMode } from '../open-queue.ts'
import type { FileQueue, FileWork } from '../sqlite/file-queue.ts'

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    type INTEGER NOT NULL,
    input TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    enqueued_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER
  ) STRICT;
  CREATE INDEX jobs_waiting ON jobs (id) WHERE state = 0;
`
const insert = 'INSERT INTO jobs (type, input, enqueued_at) VALUES (?, ?, ?)'
const claim = `
  UPDATE jobs SET state = 1, started_at = ?
  WHERE id IN (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT +?)
  RETURNING id, type, input`
const complete = 'UPDATE jobs SET state = 2, ended_at = ? WHERE id IN (SELECT value FROM json_each(?))'

export type Claimed = readonly [id: number, type: number, input: string]

export class Floor implements OpenQueue {
  protected readonly db: DatabaseSync
  protected readonly work: FileWork
  protected readonly begin: StatementSync
  protected readonly commit: StatementSync

  constructor(work: FileWork) {
    this.work = work
    this.db = new DatabaseSync(work.path)
    this.db.exec(schema)
    this.begin = this.db.prepare('BEGIN IMMEDIATE')
    this.commit = this.db.prepare('COMMIT')
  }

  async enqueue(count: number, { size }: EnqueueMode): Promise<void> {
    const statement = this.db.prepare(insert)
    const types = this.work.handlers.length
    for (let first = 0; first < count; first += size) {
      const now = Date.now()
      this.begin.run()
      for (let i = first; i < Math.min(first + size, count); i++) statement.run(i % types, JSON.stringify({ i }), now)
      this.commit.run()
    }
  }

  async process(): Promise<void> {
    const { slots } = this.work
    const claiming = this.claiming()
    const completing = this.db.prepare(complete)
    let batch: Claimed[] = []
    do {
      const now = Date.now()
      this.begin.run()
      if (batch.length > 0) completing.run(now, JSON.stringify(batch.map(([id]) => id)))
      batch = claiming.all(now, slots) as unknown as Claimed[]
      this.commit.run()
      await this.run(batch)
    } while (batch.length > 0)
  }

  protected claiming(): StatementSync {
    const statement = this.db.prepare(claim)
    // Rows as arrays are faster to make.
    statement.setReturnArrays(true)
    return statement
  }

  protected async run(batch: readonly Claimed[]): Promise<void> {
    const { handlers } = this.work
    await Promise.all(batch.map(([, type, input]) => (handlers[type] as Handler)(JSON.parse(input) as Input)))
  }

  async left(): Promise<number> {
    return Number(this.db.prepare('SELECT count(*) AS n FROM jobs WHERE state < 2').get()?.['n'])
  }

  async close(): Promise<void> {
    this.db.close()
  }
}

export const contender: FileQueue = { open: async (work) => new Floor(work) }
