/**
 * A story: what a few processes do to a store, told by hand, with the history that is recorded of it. A test bends the
 * history, or the end of the story, as a broken store would have, and sees who notices.
 */
import { memoryStore, type JobRecord, type Store } from 'jobchart'
import {
  checkHistory,
  finalState,
  recordingStore,
  type FinalState,
  type HistoryLine,
  type HistoryVerdict,
  type Loss,
} from 'jobchart/store-testing'
import { VirtualClock } from 'jobchart/testing'
import type { NewCheckpoint } from '../../src/core/machine-record.ts'
import type { ClaimedJob, NewJob, TypeLimits } from '../../src/store.ts'
import type { Settlement } from '../../src/core/settlement.ts'
import type { RunStart } from '../../src/store-testing/history/lines.ts'
import { newJob } from './new-job.ts'

export const leaseMs = 1_000
const unlimited: TypeLimits = { concurrency: null, perKey: null, rate: null }

type Change<T> = { -readonly [K in keyof T]: T[K] }

export interface End {
  lines: HistoryLine[]
  final: Change<FinalState>
  limits?: Record<string, TypeLimits>
  rescueMs?: number
  startMs?: number
  losses?: readonly Loss[]
}

export class Story {
  readonly clock = new VirtualClock()
  readonly lines: HistoryLine[] = []
  readonly bare = memoryStore({ clock: this.clock })
  readonly store: Store = recordingStore(this.bare, (line) => void this.lines.push(structuredClone(line)))
  private claims = 0

  async enqueue(id: string, job: Partial<NewJob> = {}): Promise<void> {
    await this.store.insert([{ jobs: [{ ...newJob(id), ...job }], capacity: null }])
    await this.pass(10)
  }

  /** Hands out up to `max` jobs, each with the token of the claim: `t1`, `t2`, … */
  async claim(max = 1, type = 'job', onDead?: string): Promise<readonly ClaimedJob[]> {
    const demand = [{ type, max, limits: unlimited, ...(onDead !== undefined && { onDead }) }]
    const { jobs } = await this.store.claim({ worker: 'w', leaseMs, token: `t${++this.claims}`, demand })
    await this.pass(10)
    return jobs
  }

  async settle(
    job: ClaimedJob | undefined,
    event: Settlement['event'] = 'COMPLETE',
    checkpoint?: NewCheckpoint,
    cancelTaken = false,
  ): Promise<void> {
    const to = { COMPLETE: 'done', FAIL: 'retrying', RELEASE: 'queued', SNOOZE: 'scheduled', PARK: 'waiting' } as const
    // Who parks waits for a message.
    const delay = event === 'PARK' ? {} : { delayMs: 5 }
    const brought = { ...(checkpoint && { checkpoint }), ...(cancelTaken && { cancelTaken }) }
    await this.store.settle([{ ...held(job), event, to: to[event], ...delay, ...brought }])
    await this.pass(10)
  }

  async extend(job: ClaimedJob | undefined, messages?: number): Promise<void> {
    const beat = messages === undefined ? held(job) : { ...held(job), lastMessageNumber: messages }
    await this.store.extend({ worker: 'w', leaseMs, heartbeats: [beat] })
    await this.pass(10)
  }

  async checkpoint(job: ClaimedJob | undefined, checkpoint: NewCheckpoint): Promise<void> {
    await this.store.checkpoint([{ ...held(job), checkpoint }])
    await this.pass(10)
  }

  async send(id: string, ...keys: readonly string[]): Promise<void> {
    const message = { kind: 'event', event: { type: 'GO' } } as const
    await this.store.send(keys.map((key) => ({ id, key, message, expect: null })))
    await this.pass(10)
  }

  /** The handler of a claimed job begins, and ends at once. */
  async begin(job: ClaimedJob | undefined): Promise<void> {
    this.tell('run', startOf(job))
    await this.pass(10)
  }

  /** A step of the handler is done, and its result is stored. */
  async step(job: ClaimedJob | undefined, name: string): Promise<void> {
    this.tell('step', { ...startOf(job), name })
    await this.store.extend({ worker: 'w', leaseMs, heartbeats: [{ ...held(job), steps: { [name]: 1 } }] })
    await this.pass(10)
  }

  private tell(op: 'run' | 'step', invoke: RunStart & { name?: string }): void {
    const line = { op, call: `handler ${this.lines.length}`, at: this.clock.now() }
    this.lines.push({ ...line, invoke } as HistoryLine, { ...line, ok: null } as HistoryLine)
  }

  /** The lease of a claimed job runs out, and it is taken back. */
  async crash(): Promise<void> {
    await this.pass(leaseMs)
    await this.store.rescue(10)
    await this.pass(10)
  }

  async cancel(...ids: readonly string[]): Promise<void> {
    await this.store.cancel([{ ids, reason: null, graceMs: 0 }])
    await this.pass(10)
  }

  async retry(...ids: readonly string[]): Promise<void> {
    await this.store.retry(ids)
    await this.pass(10)
  }

  async pause(paused: boolean): Promise<void> {
    await this.store.queue('job', { paused })
    await this.pass(10)
  }

  /** A claim and a settle, until the job ends. */
  async run(): Promise<void> {
    await this.settle((await this.claim())[0])
  }

  pass(ms: number): Promise<void> {
    return this.clock.advance(ms)
  }

  async end(): Promise<End> {
    return { lines: this.lines, final: { ...(await finalState(this.store)) } }
  }
}

function startOf(job: ClaimedJob | undefined): RunStart {
  if (job === undefined) throw new Error('the story has no such job')
  const { id, type, attempt, generation, seq } = job
  return { id, type, attempt, generation, seq }
}

function held(job: ClaimedJob | undefined): Pick<ClaimedJob, 'id' | 'attempt' | 'token'> {
  if (job === undefined) throw new Error('the story has no such job')
  const { id, attempt, token } = job
  return { id, attempt, token }
}

/** A checkpoint with this number that has read the messages up to that one. */
export const rest = (number: number, read = 0, takesCancel = false): NewCheckpoint => ({
  number,
  state: number,
  read,
  note: `GO → ${number}`,
  takesCancel,
})

export const check = ({ lines, final, limits, rescueMs, startMs, losses }: End): HistoryVerdict =>
  checkHistory(lines, {
    final,
    ...(limits !== undefined && { limits }),
    ...(rescueMs !== undefined && { rescueMs }),
    ...(startMs !== undefined && { startMs }),
    ...(losses !== undefined && { losses }),
  })

/** The names of the broken promises, once each. */
export const broken = (end: End): string[] => Object.keys(check(end).counts).toSorted()

/** The story with its record of a job changed, as if the store had kept it so. */
export function bend(end: End, id: string, change: (record: Change<JobRecord>) => void): void {
  end.final.records = end.final.records.map((record) => {
    if (record.id !== id) return record
    const changed = structuredClone(record)
    change(changed)
    return changed
  })
  // The log and the counts of a store that believes it say the same.
  const transitions = end.final.records.flatMap(({ id, type, history }) =>
    history.map((entry) => ({ ...entry, id, type })),
  )
  const rests = (end.final.transitions ?? []).filter(({ event }) => event === 'CHECKPOINT')
  const told = new Map([...rests, ...transitions].map((entry) => [entry.seq, entry]))
  end.final.transitions = [...told.values()].toSorted((a, b) => a.seq - b.seq)
  recount(end)
}

/** The story without a job. */
export function drop(end: End, id: string): void {
  end.final.records = end.final.records.filter((record) => record.id !== id)
  end.final.transitions = (end.final.transitions ?? []).filter((entry) => entry.id !== id)
  recount(end)
}

function recount(end: End): void {
  const { counts, records } = end.final
  const zero = Object.fromEntries(Object.keys(counts.types['job'] ?? {}).map((state) => [state, 0]))
  const count = { ...zero } as Record<string, number>
  const types: Record<string, Record<string, number>> = {}
  for (const { type, state } of records) {
    count[state] = (count[state] ?? 0) + 1
    const ofType = (types[type] ??= { ...zero })
    ofType[state] = (ofType[state] ?? 0) + 1
  }
  end.final.counts = { ...count, types } as unknown as FinalState['counts']
}
