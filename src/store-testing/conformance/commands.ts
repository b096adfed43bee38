/**
 * Commands for random sequences: few ids, keys, types and times, so that they collide. A command is decoded from a list
 * of small numbers ("genes"), in which lower means simpler: any source of numbers can drive it, and any shrinker
 * shorten it.
 */
import { failureOf } from '../../core/fingerprint.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Gather } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { SettleEvent } from '../../core/settlement.ts'
import type * as contract from '../../store.ts'

/** One of the claimed attempts, counted back from the last; possibly with a wrong token. */
export interface AttemptPick {
  readonly back: number
  readonly forged: boolean
}

/**
 * A checkpoint relative to the current state: the next one, or the current one again, which has read all messages or
 * half of them.
 */
export interface CheckpointPick {
  readonly again: boolean
  readonly read: 'none' | 'half' | 'all'
  readonly takesCancel: boolean
}

/** A message to a job: unconditional, with the current `expect`, or with a wrong one. */
export interface MessagePick {
  readonly id: string
  readonly key: string
  readonly expect: 'any' | 'now' | 'other'
  /** Is it a `resume` instead of an event? */
  readonly resume: boolean
}

export type Ending = AttemptPick & {
  readonly event: SettleEvent
  readonly delayMs: number | null
  readonly fatal: boolean
  readonly checkin: boolean
  readonly logs: number
  readonly checkpoint: CheckpointPick | null
  /** Does a machine park instead? */
  readonly parksMachine: boolean
  /** Sets `cancelTaken` for a machine that completes. */
  readonly cancelTaken: boolean
  readonly gather: Gather | null
  /** Of a SNOOZE: is it because the worker cannot run the machine of the job? */
  readonly unsupported: boolean
}

export type HeartbeatPick = AttemptPick & {
  readonly checkin: boolean
  readonly logs: number
  readonly step: string | null
  readonly messages: number | null
}

export type Command =
  | { readonly op: 'insert'; readonly requests: readonly contract.InsertRequest[] }
  | { readonly op: 'claim'; readonly request: Omit<contract.ClaimRequest, 'token'> }
  | { readonly op: 'settle'; readonly endings: readonly Ending[] }
  | {
      readonly op: 'extend'
      readonly worker: string
      readonly leaseMs: number
      readonly heartbeatPicks: readonly HeartbeatPick[]
    }
  | { readonly op: 'cancel'; readonly requests: readonly contract.CancelRequest[] }
  | { readonly op: 'checkpoint'; readonly checkpointPicks: readonly (AttemptPick & CheckpointPick)[] }
  | { readonly op: 'send'; readonly messagePicks: readonly MessagePick[] }
  | {
      readonly op: 'retry'
      readonly ids: readonly string[]
      readonly fromStart: boolean
      readonly dropInbox: contract.DropInbox
      readonly edit: contract.EditedInput | undefined
    }
  | { readonly op: 'discard'; readonly ids: readonly string[] }
  | { readonly op: 'promote' | 'rescue'; readonly limit: number }
  | { readonly op: 'prune'; readonly policies: contract.RetentionPolicies; readonly limit: number }
  | { readonly op: 'queue'; readonly type: string; readonly change: contract.QueueChange }
  | ScheduleCommand
  | BulkCommand
  | { readonly op: 'worker'; readonly id: string; readonly info: WorkerTerms | null }
  | { readonly op: 'get'; readonly ids: readonly string[] }
  | { readonly op: 'list'; readonly query: contract.ListQuery; readonly limit: number }
  | { readonly op: 'advance'; readonly ms: number }

export type BulkCommand =
  | { readonly op: 'startBulk'; readonly request: contract.StartBulk }
  | { readonly op: 'advanceBulk'; readonly request: contract.AdvanceBulk }
  | { readonly op: 'stopBulk'; readonly request: contract.StopBulk }

/** Revisions and times are relative, because their values depend on the sequence. */
export type ScheduleCommand =
  | {
      readonly op: 'putSchedule'
      readonly name: string
      readonly type: string
      readonly overlap: contract.Overlap
      readonly daily: boolean
      readonly computed: boolean
      readonly paused: boolean
      /** Ticks of the clock after the start; null = never. */
      readonly next: number | null
    }
  | {
      readonly op: 'fireSchedule'
      readonly name: string
      /** Passes an older revision than the current one. */
      readonly stale: boolean
      readonly byHand: boolean
      readonly ids: readonly string[]
      readonly next: number | null
    }
  | {
      readonly op: 'pauseSchedule'
      readonly name: string
      readonly stale: boolean
      readonly paused: boolean
      readonly next: number | null
    }
  | { readonly op: 'removeSchedule'; readonly names: readonly string[] }
  | { readonly op: 'dueSchedules'; readonly computed: readonly string[]; readonly limit: number }

/** Times are multiples of this: a real clock advances by less than this during a whole sequence. */
export const tickMs = 10_000

type Pick = (n: number) => number

const from = <T>(pick: Pick, choices: readonly T[]): T => choices[pick(choices.length)] as T
const some = <T>(pick: Pick, max: number, make: (pick: Pick) => T): T[] =>
  Array.from({ length: 1 + pick(max) }, () => make(pick))

const types = ['mail', 'sms', 'long'] as const
const workers = ['w1', 'w2'] as const
/** The first two are machines: they invoke the others, get messages, and mostly park instead of ending. */
const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const
export const machines: readonly string[] = ids.slice(0, 2)
export const machineStates = ['paid', 'paid.shipping', 'paid.waiting'] as const
export const machineTags = ['open', 'urgent'] as const
const never = 100_000 * tickMs

/** `schedule` stands for one of the commands on schedules, `bulk` for one of those on bulk operations. */
const ops: readonly (Exclude<Command['op'], (ScheduleCommand | BulkCommand)['op']> | 'schedule' | 'bulk')[] = [
  ...(['insert', 'claim', 'settle', 'insert', 'claim', 'settle', 'insert', 'claim', 'settle', 'advance'] as const),
  ...([
    'cancel',
    'promote',
    'rescue',
    'extend',
    'retry',
    'advance',
    'discard',
    'prune',
    'queue',
    'worker',
    'worker',
  ] as const),
  ...(['get', 'list', 'checkpoint', 'send', 'checkpoint', 'send'] as const),
  ...(['schedule', 'schedule', 'schedule', 'bulk', 'bulk'] as const),
]

export const genesPerCommand = 40
export const geneMax = 999

export function decode(genes: readonly number[], freshId: () => string): Command {
  let next = 0
  const pick: Pick = (n) => (genes[next++] ?? 0) % n
  const op = from(pick, ops)
  switch (op) {
    case 'insert':
      return { op, requests: some(pick, 2, (p) => insertRequest(p, freshId)) }
    case 'claim':
      return { op, request: claimRequest(pick) }
    case 'settle':
      return { op, endings: some(pick, 3, ending) }
    case 'extend':
      return {
        op,
        worker: from(pick, workers),
        leaseMs: tickMs * (3 - pick(3)),
        heartbeatPicks: some(pick, 2, heartbeatPick),
      }
    case 'cancel':
      return { op, requests: some(pick, 2, cancelRequest) }
    case 'checkpoint':
      return { op, checkpointPicks: some(pick, 2, (p) => ({ ...attempt(p), ...checkpointPick(p) })) }
    case 'send':
      return { op, messagePicks: some(pick, 2, messagePick) }
    case 'retry':
      return {
        op,
        ids: jobIds(pick),
        fromStart: pick(3) === 2,
        dropInbox: from(pick, [0, 1, 2, [1, 2, 4]]),
        edit: from(pick, [undefined, undefined, { input: { edited: [1] } }, { input: undefined }]),
      }
    case 'discard':
      return { op, ids: jobIds(pick) }
    case 'promote':
    case 'rescue':
      return { op, limit: from(pick, [100, 1, 2]) }
    case 'prune':
      return { op, policies: policies(pick), limit: from(pick, [100, 1]) }
    case 'queue':
      return { op, type: from(pick, types), change: { paused: pick(2) === 0 } }
    case 'schedule':
      return scheduleCommand(pick, freshId)
    case 'bulk':
      return bulkCommand(pick)
    case 'worker':
      return { op, id: from(pick, workers), info: pick(4) === 3 ? null : workerTerms(pick) }
    case 'get':
      return { op, ids: some(pick, 3, (p) => from(p, ids)) }
    case 'list':
      return { op, query: listQuery(pick), limit: 1 + pick(3) }
    case 'advance':
      return { op, ms: tickMs * (1 + pick(3)) }
  }
}

const schedules = ['s1', 's2'] as const
const nextTick = (pick: Pick): number | null => from(pick, [1, 2, 3, 5, 8, 0, null])

const scheduleOps: readonly ScheduleCommand['op'][] = [
  ...(['putSchedule', 'fireSchedule', 'fireSchedule', 'fireSchedule', 'putSchedule'] as const),
  ...(['pauseSchedule', 'dueSchedules', 'removeSchedule'] as const),
]

function scheduleCommand(pick: Pick, freshId: () => string): ScheduleCommand {
  const op = from(pick, scheduleOps)
  const name = from(pick, schedules)
  switch (op) {
    case 'putSchedule': {
      const overlap = from(pick, ['allow', 'skip', 'supersede', 'queue-one'] as const)
      const flags = { daily: pick(3) === 2, computed: pick(4) === 3, paused: pick(6) === 5 }
      return { op, name, type: from(pick, types), overlap, ...flags, next: nextTick(pick) }
    }
    case 'fireSchedule': {
      const told = some(pick, 2, (p) => from(p, [freshId(), freshId(), from(p, ids)]))
      return { op, name, stale: pick(6) === 5, byHand: pick(5) === 4, ids: told, next: nextTick(pick) }
    }
    case 'pauseSchedule':
      return { op, name, stale: pick(6) === 5, paused: pick(2) === 0, next: nextTick(pick) }
    case 'removeSchedule':
      return { op, names: some(pick, 2, (p) => from(p, schedules)) }
    case 'dueSchedules':
      return { op, computed: pick(2) === 0 ? [] : [name], limit: from(pick, [100, 1]) }
  }
}

const bulkOps: readonly BulkCommand['op'][] = ['startBulk', 'advanceBulk', 'startBulk', 'advanceBulk', 'stopBulk']

function bulkCommand(pick: Pick): BulkCommand {
  const op = from(pick, bulkOps)
  const id = from(pick, ['b1', 'b1', 'b2', 'b3'])
  const driver = { token: from(pick, ['t1', 't1', 't2']), leaseMs: from(pick, [tickMs, 2 * tickMs, 0]) }
  if (op === 'stopBulk') return { op, request: { id, error: from(pick, [null, { name: 'Error', message: 'stuck' }]) } }
  if (op === 'advanceBulk') return { op, request: { id, ...driver } }
  const size = { batchSize: from(pick, [1, 1, 2, 100]), expected: from(pick, [null, 3]) }
  const keep = from<{ readonly keep?: 'unfinished' }>(pick, [{}, {}, { keep: 'unfinished' }])
  const jobs = pick(2) === 0 ? {} : filter(pick)
  return { op, request: { id, ...driver, ...size, ...keep, change: bulkChange(pick), filter: jobs } }
}

const bulkChange = (pick: Pick): contract.BulkChange =>
  from<contract.BulkChange>(pick, [
    { kind: 'retry', fromStart: false, dropInbox: 0 },
    { kind: 'cancel', reason: 'no longer needed', graceMs: 5_000 },
    { kind: 'discard' },
    { kind: 'retry', fromStart: true, dropInbox: 1 },
  ])

const insertRequest = (pick: Pick, freshId: () => string): contract.InsertRequest => ({
  capacity: from(pick, [null, null, null, 6, 3]),
  ...from<{ readonly queue?: contract.QueueLimit }>(pick, [
    {},
    {},
    {},
    { queue: { type: from(pick, types), capacity: pick(4) } },
    { queue: { type: from(pick, types), capacity: 0 } },
  ]),
  jobs: some(pick, 3, (p) => newJob(p, freshId)),
})

const newJob = (pick: Pick, freshId: () => string): contract.NewJob => {
  const job = plainJob(pick, freshId)
  const parent = pick(3) === 2 ? { id: from(pick, machines), checkins: pick(2) === 1 } : null
  const forked = pick(10) === 9 ? { checkpoint: { forked: job.id } } : {}
  const version = from(pick, [null, null, '1', '2'])
  const meta = from(pick, [null, null, null, ...metas])
  return {
    ...job,
    ...(meta !== null && { meta }),
    ...forked,
    ...(parent !== null && { parent }),
    ...(version !== null && { version }),
  }
}

const metas = [{ tenant: 'a' }, { tenant: 'b', paid: true }, { tenant: 1, nested: { tenant: 'a' } }, { paid: 1 }]

const plainJob = (pick: Pick, freshId: () => string): contract.NewJob => ({
  id: from(pick, [from(pick, ids), freshId(), from(pick, machines)]),
  type: from(pick, types),
  input: from<Json | undefined>(pick, [undefined, { n: 1 }, [1, { deep: ['x'] }], 'text']),
  priority: from(pick, [0, 0, 0, 5, -5]),
  maxAttempts: from(pick, [2, 1, 3]),
  tags: from(pick, [[], ['red'], ['red', 'blue']]),
  concurrencyKey: from(pick, [null, 'x', 'y']),
  key: from(pick, [null, null, 'k1', 'k2']),
  runAt: null,
  delayMs: from(pick, [0, 0, 0, tickMs, 2 * tickMs]),
  onConflict: from(pick, ['keep', 'replace', 'supersede', 'follow']),
  ...from<Pins>(pick, [{}, {}, {}, { pins: { maxAttempts: 2 }, maxAttempts: 2 }, { pins: { attemptTimeoutMs: 5 } }]),
  ...from<{ readonly until?: 'start' }>(pick, [{}, {}, { until: 'start' }]),
  ...from<{ readonly keyWeight?: number }>(pick, [{}, { keyWeight: 2 }, { keyWeight: 3 }]),
})

type Pins = { readonly pins?: contract.JobPins; readonly maxAttempts?: number }

/** What a worker reports of itself, as far as it matters for jobs that are handed over. */
interface WorkerTerms {
  readonly slots: number
  readonly types: readonly string[]
  readonly limits?: Readonly<Record<string, contract.TypeLimits>>
  readonly paused?: true
}

const workerTerms = (pick: Pick): WorkerTerms => ({
  slots: from(pick, [2, 10, 5, 1, 0]),
  types: types.slice(0, 3 - pick(3)),
  ...from<{ readonly limits?: WorkerTerms['limits'] & {} }>(pick, [
    {},
    { limits: { mail: { concurrency: 2, perKey: null, rate: null } } },
    { limits: { long: { concurrency: 1, perKey: null, rate: null } } },
  ]),
  ...(pick(5) === 4 && { paused: true }),
})

const claimRequest = (pick: Pick): Omit<contract.ClaimRequest, 'token'> => ({
  worker: from(pick, workers),
  leaseMs: tickMs * from(pick, [3, 1, 2]),
  demand: types.slice(0, 3 - pick(3)).map((type) => ({
    type,
    max: from(pick, [1, 2, 10]),
    ...from<{ readonly maxAttempts?: number }>(pick, [{}, {}, { maxAttempts: 1 }, { maxAttempts: 4 }]),
    ...from<{ readonly keyShares?: true }>(pick, [{}, { keyShares: true }]),
    ...from<{ readonly onDead?: string }>(pick, [{}, { onDead: 'sms' }]),
    limits: {
      concurrency: type === 'long' ? from(pick, [null, 1, 2]) : null,
      perKey: type === 'sms' ? null : from(pick, [null, 1, 2]),
      // The same for all claims of the type: the contract does not say how long a store keeps the claims of other
      // windows.
      rate: type === 'sms' ? { limit: 2, perMs: 2 * tickMs } : null,
      ...(type === 'mail' && { keyRate: { limit: from(pick, [1, 2]), perMs: 2 * tickMs } }),
    },
  })),
})

const attempt = (pick: Pick): AttemptPick => ({ back: from(pick, [0, 1, 2, 3, 4, 5]), forged: pick(8) === 7 })

function ending(pick: Pick): Ending {
  const event = from(pick, ['COMPLETE', 'FAIL', 'RELEASE', 'SNOOZE', 'PARK', 'FAIL'] as const)
  const timed = { COMPLETE: [null], FAIL: [tickMs, 0], RELEASE: [null], SNOOZE: [tickMs, 0], PARK: [null, tickMs] }
  return {
    ...attempt(pick),
    event,
    delayMs: from(pick, timed[event]),
    fatal: event === 'FAIL' && pick(4) === 3,
    checkin: pick(4) === 3,
    logs: from(pick, [0, 0, 0, 1, 60]),
    checkpoint: pick(3) === 2 ? checkpointPick(pick) : null,
    parksMachine: pick(3) > 0,
    cancelTaken: event === 'COMPLETE' && pick(2) === 1,
    gather: from(pick, [null, null, { messages: 2, ms: tickMs }, { messages: 3, ms: 0 }]),
    unsupported: event === 'SNOOZE' && pick(2) === 1,
  }
}

const heartbeatPick = (pick: Pick): HeartbeatPick => ({
  ...attempt(pick),
  checkin: pick(2) === 1,
  logs: from(pick, [0, 0, 1, 60]),
  step: from(pick, [null, 'charge', '__proto__']),
  messages: from(pick, [null, 0, 1, 3]),
})

const checkpointPick = (pick: Pick): CheckpointPick => ({
  again: pick(6) === 5,
  read: from(pick, ['none', 'half', 'all']),
  takesCancel: pick(2) === 1,
})

const messagePick = (pick: Pick): MessagePick => ({
  id: from(pick, ['a', 'b', 'a', 'b', 'c', 'd']),
  key: from(pick, ['l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8']),
  expect: from(pick, ['any', 'any', 'now', 'other']),
  resume: pick(4) === 3,
})

const cancelRequest = (pick: Pick): contract.CancelRequest => ({
  ids: jobIds(pick),
  reason: from(pick, [null, 'no longer needed']),
  graceMs: from(pick, [5_000, 0, null]),
})

const jobIds = (pick: Pick): string[] => some(pick, 3, (p) => from(p, ids))

const states: readonly (JobState | readonly JobState[])[] = [
  ...(['queued', 'running', 'dead', 'cancelled', 'done'] as const),
  ...([['scheduled', 'retrying', 'waiting'], ['dead', 'cancelled'], ['running', 'cancelling'], []] as const),
]

/** Fingerprints of the errors of `Requests.settlement`. */
const failures = ['Error', 'TypeError'].map((name) => failureOf({ name, message: 'of token 1' }).fingerprint)

const listQuery = (pick: Pick): contract.ListQuery => ({
  ...(pick(6) === 5 ? {} : filter(pick)),
  ...from<contract.ListQuery>(pick, [{}, { order: 'newest' }, { orderBy: 'finished' }, { orderBy: 'due' }]),
  ...from<contract.ListQuery>(pick, [
    {},
    {},
    { order: 'newest', orderBy: 'finished' },
    { order: 'newest', orderBy: 'due' },
  ]),
  ...from<contract.ListQuery>(pick, [{}, {}, { fields: ['id', 'machineStates', 'parent', 'errors'] }]),
})

function filter(pick: Pick): contract.JobFilter {
  switch (pick(12)) {
    case 11:
      return {
        failure: from(pick, failures),
        ...(pick(2) === 1 && { type: from(pick, types), state: from(pick, states) }),
      }
    case 10:
      return { meta: from(pick, [{ tenant: 'a' }, { tenant: 'b', paid: true }, { tenant: 1 }, { paid: false }]) }
    case 7:
      return { parent: from(pick, machines) }
    case 8:
      return { machineState: from(pick, machineStates), ...(pick(2) === 1 && { state: from(pick, states) }) }
    case 9:
      return { machineTag: from(pick, machineTags), ...(pick(2) === 1 && { machineState: from(pick, machineStates) }) }
    case 6:
      return { unsupported: true, ...(pick(2) === 1 && { type: from(pick, types), state: from(pick, states) }) }
    case 0:
      return { type: from(pick, types) }
    case 1:
      return { state: from(pick, states) }
    case 2:
      return { type: ['mail', 'sms'], state: from(pick, states) }
    case 3:
      return { tag: from(pick, ['red', 'blue']) }
    case 4:
      return { key: 'k1', type: from(pick, types) }
    default:
      return { concurrencyKey: from(pick, ['x', 'y']) }
  }
}

const policies = (pick: Pick): contract.RetentionPolicies => ({
  types: new Map(pick(2) === 0 ? [] : [[from(pick, types), policy(pick)]]),
  others: policy(pick),
})

const policy = (pick: Pick): contract.RetentionPolicy => ({ done: kept(pick), dead: kept(pick), cancelled: kept(pick) })

const kept = (pick: Pick): contract.RetentionPolicy['done'] => ({
  ageMs: from(pick, [never, 2 * tickMs, 0]),
  count: from(pick, [100, 2, 1, 0]),
  ...(pick(3) === 2 && { minAgeMs: from(pick, [tickMs, 3 * tickMs]), countMax: from(pick, [100, 3]) }),
})
