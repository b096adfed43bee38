/** Helpers of the cases: inserts, claims, settlements, checkpoints and messages. */
import assert from 'node:assert/strict'
import { caps } from '../../core/caps.ts'
import type { JobRecord } from '../../core/record.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Checkpoint, NewCheckpoint } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { Settlement } from '../../core/settlement.ts'
import type {
  BulkAnswer,
  BulkChange,
  CheckpointAnswer,
  ClaimAnswer,
  ClaimedJob,
  InsertAnswer,
  JobFilter,
  NewJob,
  PruneAnswer,
  RetentionPolicy,
  SendRequest,
  SettleAnswer,
  Store,
  TypeLimits,
  WorkerInfo,
} from '../../store.ts'

const leaseMs = 30_000
export const noLimits: TypeLimits = { concurrency: null, perKey: null, rate: null }
export const boom = { name: 'Error', message: 'boom' }

const plainJob: Omit<NewJob, 'id'> = {
  type: 'mail',
  input: { n: 1 },
  priority: 0,
  maxAttempts: 3,
  tags: [],
  concurrencyKey: null,
  runAt: null,
  delayMs: 0,
  key: null,
  onConflict: 'keep',
}

export const newJob = (id: string, fields: Partial<NewJob> = {}): NewJob => ({ ...plainJob, id, ...fields })

/** A worker with ten slots for mail. */
export const workerInfo = (id: string, fields: Partial<WorkerInfo> = {}): WorkerInfo => ({
  id,
  name: id,
  host: 'localhost',
  pid: 1,
  version: '1',
  slots: 10,
  types: ['mail'],
  definitions: {},
  events: {},
  limits: {},
  leaseMs,
  startedAt: 5,
  ...fields,
})

/** Inserts jobs in one request without a capacity. */
export async function put(store: Store, ...jobs: readonly NewJob[]): Promise<InsertAnswer[]> {
  const [answers] = await store.insert([{ jobs, capacity: null }])
  return answers ?? []
}

interface Taking {
  readonly type?: string
  readonly max?: number
  readonly limits?: Partial<TypeLimits>
  readonly maxAttempts?: number
  readonly keyShares?: true
  readonly onDead?: string
  readonly worker?: string
  readonly token?: string
  readonly leaseMs?: number
  readonly startedAt?: number
}

export const ask = async (store: Store, taking: Taking = {}): Promise<ClaimAnswer> => {
  const { type = 'mail', max = 100, limits = {}, worker = 'w1', token = 'token' } = taking
  const { maxAttempts, keyShares, onDead, startedAt } = taking
  const asked = { type, max, limits: { ...noLimits, ...limits } }
  const terms = { ...(maxAttempts !== undefined && { maxAttempts }), ...(keyShares && { keyShares }) }
  const demand = [{ ...asked, ...terms, ...(onDead !== undefined && { onDead }) }]
  return store.claim({
    worker,
    token,
    leaseMs: taking.leaseMs ?? leaseMs,
    ...(startedAt !== undefined && { startedAt }),
    demand,
  })
}

export const take = async (store: Store, taking: Taking = {}): Promise<readonly ClaimedJob[]> =>
  (await ask(store, taking)).jobs

/** Claims the only job that can be claimed. */
export async function takeOne(store: Store, taking: Taking = {}): Promise<ClaimedJob> {
  const [job, ...others] = await take(store, taking)
  assert.ok(job !== undefined && others.length === 0, 'exactly one job was to be claimed')
  return job
}

/** Inserts one job and claims it. */
export async function putAndTake(store: Store, id: string, fields: Partial<NewJob> = {}): Promise<ClaimedJob> {
  await put(store, newJob(id, fields))
  return takeOne(store, fields.type === undefined ? {} : { type: fields.type })
}

/** Inserts, claims and settles one job. */
export async function putAndEnd(
  store: Store,
  id: string,
  end: 'done' | 'dead' | 'cancelled',
  fields?: Partial<NewJob>,
) {
  const job = await putAndTake(store, id, fields)
  if (end === 'cancelled') await store.cancel([{ ids: [id], reason: null, graceMs: 0 }])
  const event =
    end === 'dead' ? ({ event: 'FAIL', fatal: true, error: boom } as const) : ({ event: 'COMPLETE' } as const)
  await store.settle([{ ...lease(job), to: end, ...event }])
  return job
}

export const lease = ({ id, attempt, token }: ClaimedJob): Pick<Settlement, 'id' | 'attempt' | 'token'> => {
  return { id, attempt, token }
}

export const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map((job) => job.id)

export async function recordOf(store: Store, id: string): Promise<JobRecord> {
  const [record] = await store.get([id])
  assert.ok(record !== null && record !== undefined, `job ${id} is there`)
  return record
}

export const stateOf = async (store: Store, id: string): Promise<JobState> => (await recordOf(store, id)).state

export const cancel = async (store: Store, ids: readonly string[], reason: string | null = null) =>
  (await store.cancel([{ ids, reason, graceMs: 5_000 }]))[0]

/**
 * Changes the jobs that match a filter by a bulk operation.
 * @returns those of its first batch, by what became of them
 */
export async function changeMatching(
  store: Store,
  change: BulkChange['kind'],
  filter: JobFilter,
  batchSize: number = caps.selection,
): Promise<BulkAnswer['jobs']> {
  const own = { id: `${change} ${JSON.stringify(filter)}`, token: 'bulk', leaseMs: 10_000 }
  const terms = { change: changes[change], filter, batchSize, expected: null, keep: 'unfinished' } as const
  return (await store.bulk.start({ ...own, ...terms })).jobs
}

const changes: { readonly [Kind in BulkChange['kind']]: BulkChange & { readonly kind: Kind } } = {
  retry: { kind: 'retry', fromStart: false, dropInbox: 0 },
  cancel: { kind: 'cancel', reason: null, graceMs: 0 },
  discard: { kind: 'discard' },
}

/** A checkpoint with this number, which reads nothing. */
export const plainCheckpoint = (number: number): NewCheckpoint => ({
  number,
  state: { at: `rest ${number}` },
  read: 0,
  note: `GO → ${number}`,
  takesCancel: false,
})

/** What is left of it. */
export const restAt = (number: number): Checkpoint => ({ number, state: plainCheckpoint(number).state })

/** Writes a checkpoint of a leased job. */
export async function write(store: Store, job: ClaimedJob, checkpoint: NewCheckpoint): Promise<CheckpointAnswer> {
  const [answer] = await store.checkpoint([{ ...lease(job), checkpoint }])
  assert.ok(answer !== undefined && answer.outcome !== 'lost', `checkpoint ${checkpoint.number} is kept`)
  return answer
}

/** Writes results of steps. */
export const saveSteps = (store: Store, job: ClaimedJob, steps: Readonly<Record<string, Json>>) =>
  store.extend({ worker: 'w1', leaseMs, heartbeats: [{ ...lease(job), steps }] })

/** Parks a job, with a checkpoint if one is given. */
export async function park(store: Store, job: ClaimedJob, checkpoint?: NewCheckpoint): Promise<SettleAnswer> {
  const parking = { ...lease(job), event: 'PARK', to: 'waiting' } as const
  const [answer] = await store.settle([checkpoint === undefined ? parking : { ...parking, checkpoint }])
  assert.ok(answer?.outcome === 'settled', `job ${job.id} is parked`)
  return answer
}

/** A message with an event of the name of its key. */
export const message = (id: string, key: string, expect: SendRequest['expect'] = null): SendRequest => ({
  id,
  key,
  expect,
  message: { kind: 'event', event: { type: key } },
})

/** Prunes by one policy for all types. */
export async function prune(store: Store, policy: RetentionPolicy, limit: number): Promise<PruneAnswer> {
  await store.retain({ types: new Map(), others: policy })
  return store.prune(limit)
}
