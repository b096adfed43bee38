/**
 * The `onDead` hook of a type: the very write that makes a job dead inserts the job that runs the hook. So no crash
 * loses the hook, and the process that writes the death need not know the definition: each claim keeps the hook of its
 * worker with the job.
 */
import type { ErrorRecord } from './failure.ts'
import { bornReady } from './insert.ts'
import type { Json } from './payload.ts'
import type { JobMeta } from './record.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'
import type { NewJob, WrittenTransition } from './values.ts'

/** The input of the job that runs a hook: the job that died, as it was then. */
export interface Death<Input = Json | undefined> {
  readonly id: string
  readonly type: string
  /** 1 at first; a retry of the dead job opens the next one, and its death calls the hook again. */
  readonly generation: number
  /** Attempts spent in this generation, and how many it could spend. */
  readonly attempt: number
  readonly maxAttempts: number
  /** As it was enqueued: it is not validated again. */
  readonly input: Input
  /** Of the last attempt. */
  readonly error: ErrorRecord
  /** The unique key that it held. */
  readonly key: string | null
  /** ms since the epoch, by the store's clock. */
  readonly enqueuedAt: number
  readonly diedAt: number
}

/** A job that died, as its `onDead` hook is given it. */
export interface DeadJob<Input = unknown> extends Death<Input> {
  readonly tags: readonly string[]
  readonly meta: JobMeta
}

/** The type of the jobs that run the hook of a type. */
export const hookTypeOf = (type: string): string => `${type}${hookSuffix}`

export const hookSuffix = ':dead'

/** Attempts of a hook that does not define its own: with the default backoff they last some ten minutes on average. */
export const hookAttempts = 10

/** The hook of a job that has just ended, if it is dead and has one. Gives its ENQUEUE. */
export function insertHook(unit: Unit, row: JobRow): WrittenTransition | null {
  if (row.state !== 'dead' || row.onDead === null) return null
  const meta = unit.read(row, 'meta')
  const trace = row.terms.pins?.trace
  const job: Omit<NewJob, 'id'> = {
    type: row.onDead,
    input: deathOf(unit, row),
    priority: row.priority,
    maxAttempts: hookAttempts,
    tags: unit.read(row, 'tags'),
    ...(Object.keys(meta).length > 0 && { meta }),
    ...(trace !== undefined && { pins: { trace } }),
    concurrencyKey: null,
    runAt: null,
    delayMs: 0,
    key: null,
    onConflict: 'keep',
  }
  const own = `${row.id}/dead/${row.generation}`
  // An earlier job of the same id, which was removed, may have left its hook: an id is counted on until it is free.
  for (let n = 1; ; n++) {
    const id = n === 1 ? own : `${own}.${n}`
    const seq = unit.insertMade({ ...job, id }, bornReady)
    if (seq === null) continue
    return { seq, at: unit.now, id, type: job.type, event: 'ENQUEUE', from: null, to: bornReady, attempt: 0 }
  }
}

function deathOf(unit: Unit, row: JobRow): Json {
  const { id, type, generation, attempt, maxAttempts, key } = row
  const [input, error] = [unit.read(row, 'input'), unit.read(row, 'error')]
  return {
    id,
    type,
    generation,
    attempt,
    maxAttempts,
    ...(input !== undefined && { input }),
    error: jsonOf(error ?? { name: 'Error', message: 'no error was given' }),
    key,
    enqueuedAt: unit.read(row, 'enqueuedAt'),
    diedAt: unit.now,
  }
}

function jsonOf({ cause, ...error }: ErrorRecord): Json {
  return { ...error, ...(cause !== undefined && { cause: jsonOf(cause) }) }
}
