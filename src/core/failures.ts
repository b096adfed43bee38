/**
 * The answers for items of a call that could not be written, while the others were. Part of the contract in `store.ts`.
 */
import type { ErrorRecord } from './failure.ts'
import type { CheckpointAnswer, ReindexAnswer, SendAnswer } from './machine-values.ts'
import type { FireScheduleAnswer, PutScheduleAnswer } from './schedule-record.ts'
import type { HeartbeatAnswer, CancelAnswer, InsertAnswer, SettleAnswer } from './values.ts'

const outcome = 'failed'
const nowhere = { seq: 0, at: 0, dueAt: null } as const

/** One answer for each job of a request. */
export const insertFailed = (ids: readonly string[], error: ErrorRecord): InsertAnswer[] =>
  ids.map((id) => ({ outcome, id, state: 'queued', ...nowhere, error }))

export const settleFailed = (error: ErrorRecord): SettleAnswer => ({
  outcome,
  ...nowhere,
  from: 'running',
  to: 'running',
  attempt: 0,
  error,
})

export const heartbeatFailed = (error: ErrorRecord): HeartbeatAnswer => ({ outcome, error })

export const checkpointFailed = (error: ErrorRecord): CheckpointAnswer => ({
  outcome,
  seq: 0,
  at: 0,
  maxAttempts: 0,
  inbox: [],
  error,
})

export const sendFailed = (error: ErrorRecord): SendAnswer => ({ outcome, state: null, error })

export const reindexFailed = (error: ErrorRecord): ReindexAnswer => ({ outcome, error })

export const putScheduleFailed = (error: ErrorRecord): PutScheduleAnswer => ({ outcome, schedule: null, error })

export const fireScheduleFailed = (error: ErrorRecord): FireScheduleAnswer => ({
  outcome,
  ticks: [],
  transitions: [],
  error,
})

export const cancelFailed = (error: ErrorRecord): CancelAnswer => ({
  cancelled: [],
  cancelling: [],
  notFound: [],
  finished: [],
  transitions: [],
  error,
})
