/**
 * Reduces requests and answers to what a history records: ids, times and numbers, but no payloads, messages or states.
 */
import type { InboxEntry, NewCheckpoint } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { Settlement } from '../../core/settlement.ts'
import type { HeartbeatPayload, HeartbeatAnswer, CheckpointAnswer, ClaimedJob, Demand, NewJob } from '../../store.ts'
import type {
  AskedAttempts,
  AskedBeat,
  AskedCheckpoint,
  AskedEnd,
  AskedHooks,
  AskedJob,
  AttemptName,
  GivenBeat,
  GivenCheckpoint,
  GivenJob,
} from './lines.ts'

export function askedJob({
  id,
  type,
  maxAttempts,
  key,
  concurrencyKey,
  onConflict,
  until,
  pins,
  parent,
  checkpoint,
}: NewJob): AskedJob {
  const asked = { id, type, maxAttempts, key, concurrencyKey, onConflict }
  return {
    ...asked,
    ...(until !== undefined && { until }),
    ...(pins?.maxAttempts !== undefined && { pinned: true }),
    ...(parent !== undefined && { parent }),
    ...(checkpoint !== undefined && { forked: true }),
  }
}

/** `maxAttempts` of a claim, by type, where it has one. */
export function askedAttempts(demand: readonly Demand[]): { readonly maxAttempts?: AskedAttempts } {
  const asked = demand.flatMap(({ type, maxAttempts }) => (maxAttempts === undefined ? [] : [[type, maxAttempts]]))
  return asked.length === 0 ? {} : { maxAttempts: Object.fromEntries(asked) as AskedAttempts }
}

/** Which hooks a claim gives its jobs, where it gives some. */
export function askedHooks(demand: readonly Demand[]): { readonly onDead?: AskedHooks } {
  const asked = demand.flatMap(({ type, onDead }) => (onDead === undefined ? [] : [[type, onDead]]))
  return asked.length === 0 ? {} : { onDead: Object.fromEntries(asked) as AskedHooks }
}

export function givenJob(job: ClaimedJob): GivenJob {
  const { id, type, attempt, maxAttempts, generation, token, startedAt, seq, checkpoint, inbox } = job
  const given = { id, type, attempt, maxAttempts, generation, token, startedAt, seq }
  return {
    ...given,
    ...(checkpoint !== null && { checkpoint: checkpoint.number }),
    ...(inbox.length > 0 && { inbox: numbersOf(inbox) }),
  }
}

const numbersOf = (inbox: readonly InboxEntry[]): number[] => inbox.map(({ number }) => number)

export const askedCheckpoint = ({ number, read, takesCancel, deferred, state }: NewCheckpoint): AskedCheckpoint => ({
  number,
  read,
  takesCancel,
  ...(deferred !== undefined && { deferred }),
  ...(isDone(state) && { isDone: true }),
})

/** Has the machine ended? Its effects may be yet to be executed. */
const isDone = (state: Json): boolean =>
  (state as { readonly snapshot?: { readonly status?: Json } } | null)?.snapshot?.status === 'done'

export const askedEnd = (settlement: Settlement): AskedEnd => {
  const { event, checkpoint, cancelTaken, unsupported } = settlement
  const asked = {
    ...attemptName(settlement),
    event,
    ...(cancelTaken === true && { cancelTaken }),
    ...(unsupported !== undefined && { unsupported: true as const }),
  }
  return checkpoint === undefined ? asked : { ...asked, checkpoint: askedCheckpoint(checkpoint) }
}

export const askedBeat = (heartbeat: HeartbeatPayload): AskedBeat => ({
  ...attemptName(heartbeat),
  ...(heartbeat.steps !== undefined && { steps: Object.keys(heartbeat.steps) }),
})

export const givenBeat = ({ outcome, inbox }: HeartbeatAnswer): GivenBeat => ({
  outcome,
  ...(inbox !== undefined && { inbox: numbersOf(inbox) }),
})

export const givenCheckpoint = ({ outcome, seq, maxAttempts, inbox }: CheckpointAnswer): GivenCheckpoint => ({
  outcome,
  seq,
  maxAttempts,
  inbox: numbersOf(inbox),
})

export const attemptName = ({ id, attempt, token }: AttemptName): AttemptName => ({ id, attempt, token })
