/**
 * A store that records a history: it wraps any store, and writes one line before each call and one with its answer.
 * Reads are not recorded, because the check compares the final state.
 */
import { nanoid } from 'nanoid'
import { type Clock, systemClock } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import type { Middleware, RunContext } from '../../index.ts'
import type {
  Answer,
  BulkAnswer,
  BulkStore,
  FireScheduleAnswer,
  InsertAnswer,
  ScheduleStore,
  Store,
} from '../../store.ts'
import {
  askedBeat,
  askedCheckpoint,
  askedEnd,
  askedAttempts,
  askedHooks,
  askedJob,
  attemptName,
  givenBeat,
  givenCheckpoint,
  givenJob,
} from './kept.ts'
import type { HistoryLine, HistorySink, RecordedCalls, RunStart } from './lines.ts'

type Operation = keyof RecordedCalls

/**
 * Wraps a store so that its calls are recorded. Make all calls through the wrapper: `checkHistory` does not know of
 * others.
 * @param sink receives the lines: the sink of a `historyFile`, or the `push` of an array
 * @example const store = recordingStore(myStore(), historyFile('worker-1.ndjson').sink)
 */
export function recordingStore(store: Store, sink: HistorySink): Store {
  const recorder = new Recorder(sink, () => store.now())
  const { name, capabilities } = store
  return {
    name,
    capabilities,
    now: () => store.now(),
    watch: (listener) => store.watch(listener),
    open: (host) => store.open(host),
    close: () => store.close(),
    ...forWorkers(store, recorder),
    ...forMachines(store, recorder),
    ...forAdmins(store, recorder),
    ...(store.confirm && { confirm: (leases) => store.confirm?.(leases) ?? [] }),
    schedules: forSchedules(store.schedules, recorder),
    bulk: forBulk(store.bulk, recorder),
    reindex: (requests) => store.reindex(requests),
    checkpoints: (id) => store.checkpoints(id),
    get: (ids) => store.get(ids),
    list: (query) => store.list(query),
    counts: () => store.counts(),
    machineCounts: (type) => store.machineCounts(type),
    heat: (query) => store.heat(query),
    queues: () => store.queues(),
    queuedSince: (types) => store.queuedSince(types),
    activity: (query) => store.activity(query),
    failures: (query) => store.failures(query),
    failureMerges: (change) => store.failureMerges(change),
    worker: (id, info) => store.worker(id, info),
    workers: () => store.workers(),
    transitions: (from, limit) => store.transitions(from, limit),
  }
}

type Work = 'insert' | 'claim' | 'settle' | 'extend' | 'promote' | 'rescue' | 'retain' | 'prune'

const forWorkers = (store: Store, recorder: Recorder): Pick<Store, Work> => ({
  insert: (requests) =>
    recorder.write(
      'insert',
      requests.map(({ jobs }) => jobs.map(askedJob)),
      () => store.insert(requests),
      (answers) => answers,
    ),
  claim: (request) => {
    const { worker, leaseMs, token, demand } = request
    return recorder.write(
      'claim',
      { worker, leaseMs, token, ...askedAttempts(demand), ...askedHooks(demand) },
      () => store.claim(request),
      ({ jobs }) => jobs.map(givenJob),
    )
  },
  settle: (settlements) =>
    recorder.write(
      'settle',
      settlements.map(askedEnd),
      () => store.settle(settlements),
      (answers) => answers,
    ),
  extend: async (request) => {
    // A heartbeat without runs changes no job.
    if (request.heartbeats.length === 0) return store.extend(request)
    const { worker, leaseMs, heartbeats } = request
    return recorder.write(
      'extend',
      { worker, leaseMs, heartbeats: heartbeats.map(askedBeat) },
      () => store.extend(request),
      (answers) => answers.map(givenBeat),
    )
  },
  promote: (limit) =>
    recorder.write(
      'promote',
      { limit },
      () => store.promote(limit),
      ({ transitions }) => transitions,
    ),
  rescue: (limit) =>
    recorder.write(
      'rescue',
      { limit },
      () => store.rescue(limit),
      ({ transitions }) => transitions,
    ),
  retain: async ({ types, others }) =>
    recorder.write(
      'retain',
      { types: [...types], others },
      () => store.retain({ types, others }),
      () => null,
    ),
  prune: async (limit) =>
    recorder.write(
      'prune',
      { limit },
      () => store.prune(limit),
      ({ pruned }) => ({ pruned }),
    ),
})

const forMachines = (store: Store, recorder: Recorder): Pick<Store, 'checkpoint' | 'send'> => ({
  checkpoint: (requests) =>
    recorder.write(
      'checkpoint',
      requests.map((request) => ({ ...attemptName(request), checkpoint: askedCheckpoint(request.checkpoint) })),
      () => store.checkpoint(requests),
      (answers) => answers.map(givenCheckpoint),
    ),
  send: (requests) =>
    recorder.write(
      'send',
      requests.map(({ id, key, expect }) => ({ id, key, expect })),
      () => store.send(requests),
      (answers) => answers,
    ),
})

/** A firing is recorded as an insert of its jobs; a tick without a job as a refused insert. */
const forSchedules = (store: ScheduleStore, recorder: Recorder): ScheduleStore => ({
  put: (requests) => store.put(requests),
  list: (names) => store.list(names),
  pause: (request) => store.pause(request),
  remove: (names) => store.remove(names),
  due: (request) => store.due(request),
  fire: (requests) =>
    recorder.write(
      'insert',
      requests.flatMap(({ ticks }) => ticks.map(({ job }) => [askedJob(job)])),
      () => store.fire(requests),
      (answers) => answers.flatMap((answer, i) => insertsOf(requests[i]?.ticks.map(({ job }) => job.id) ?? [], answer)),
    ),
})

function forBulk(store: BulkStore, recorder: Recorder): BulkStore {
  const recorded = (id: string, make: () => Answer<BulkAnswer>): Answer<BulkAnswer> =>
    recorder.write('bulk', { id }, make, (answer) => answer)
  return {
    start: (request) => recorded(request.id, () => store.start(request)),
    advance: (request) => recorded(request.id, () => store.advance(request)),
    stop: (request) => store.stop(request),
    list: (only) => store.list(only),
  }
}

const insertsOf = (ids: readonly string[], { ticks, transitions }: FireScheduleAnswer): InsertAnswer[][] =>
  ids.map((id, i) => {
    const tick = ticks[i]
    if (tick === undefined || tick.outcome === 'skipped') {
      return [{ outcome: 'full', id, state: 'queued', seq: 0, at: 0, dueAt: null }]
    }
    const superseded = transitions[0]
    return [i === 0 && superseded !== undefined ? { ...tick, superseded } : tick]
  })

const forAdmins = (store: Store, recorder: Recorder): Pick<Store, 'cancel' | 'retry' | 'discard' | 'queue'> => ({
  cancel: (requests) =>
    recorder.write(
      'cancel',
      requests,
      () => store.cancel(requests),
      (answers) => answers,
    ),
  retry: (ids, fromStart, dropInbox, edit) =>
    recorder.write(
      'retry',
      { ids, ...((fromStart === true || edit !== undefined) && { fromStart: true }) },
      () => store.retry(ids, fromStart, dropInbox, edit),
      (answer) => answer,
    ),
  discard: async (ids) =>
    recorder.write(
      'discard',
      { ids },
      () => store.discard(ids),
      (answer) => answer,
    ),
  queue: async (type, change) => {
    if (change === undefined) return store.queue(type)
    return recorder.write(
      'queue',
      { type, paused: change.paused },
      () => store.queue(type, change),
      ({ paused }) => ({ paused }),
    )
  },
})

/**
 * A middleware that records the start and the end of each run of a handler, and of each of its steps. Put it first, and
 * pass it the sink of the recording store: the check finds a missing run only if its start is recorded.
 * @param clock default: the system's; that of the runtime if it has another
 * @example createRuntime({ jobs, store: recordingStore(store, sink), middleware: [recordRuns(sink)] })
 */
export function recordRuns(sink: HistorySink, clock: Clock = systemClock): Middleware {
  const recorder = new Recorder(sink, () => clock.now())
  return (context, next) => {
    const { id, type, attempt, step } = context
    const { generation, history } = context.job
    const claim = history.findLast((entry) => entry.event === 'CLAIM' && entry.attempt === attempt)
    const start: RunStart = { id, type, attempt, generation, seq: claim?.seq ?? null }
    const recorded: RunContext['step'] = (name, work) =>
      step(name, async () => recorder.write('step', { ...start, name }, async () => work(), nothing))
    // The same object is passed to the handler, which may destructure it.
    Object.defineProperty(context, 'step', { value: recorded })
    return recorder.write('run', start, next, nothing)
  }
}

const nothing = (): null => null

/** Writes the two lines of each call. */
class Recorder {
  private readonly sink: HistorySink
  private readonly now: () => number

  constructor(sink: HistorySink, now: () => number) {
    this.sink = sink
    this.now = now
  }

  /** Makes the call synchronously, as without the wrapper, and returns its answer. */
  write<Op extends Operation, T>(
    op: Op,
    asked: RecordedCalls[Op]['asked'],
    make: () => Promise<T>,
    kept: (answer: T) => RecordedCalls[Op]['answer'],
  ): Promise<T>
  write<Op extends Operation, T>(
    op: Op,
    asked: RecordedCalls[Op]['asked'],
    make: () => Answer<T>,
    kept: (answer: T) => RecordedCalls[Op]['answer'],
  ): Answer<T>
  write<Op extends Operation, T>(
    op: Op,
    asked: RecordedCalls[Op]['asked'],
    make: () => Answer<T>,
    kept: (answer: T) => RecordedCalls[Op]['answer'],
  ): Answer<T> {
    const call = nanoid(10)
    const line = (said: object): void => this.sink({ op, call, at: this.now(), ...said } as HistoryLine)
    const answered = (answer: T): T => {
      line({ ok: kept(answer) })
      return answer
    }
    const failed = (error: unknown): never => {
      line(wasRefused(op, error) ? { fail: codeOf(error) } : { unknown: codeOf(error) })
      throw error
    }
    line({ invoke: asked })
    let answer: Answer<T>
    try {
      answer = make()
    } catch (error) {
      return failed(error)
    }
    return answer instanceof Promise ? answer.then(answered, failed) : answered(answer)
  }
}

/** A failed call may have been written, unless the error says otherwise; a handler that threw has ended. */
const wasRefused = (op: Operation, error: unknown): boolean =>
  op === 'run' || op === 'step' || (error instanceof JobchartError && error.code !== 'STORE_UNAVAILABLE')

const codeOf = (error: unknown): string =>
  error instanceof JobchartError ? error.code : error instanceof Error ? error.name : typeof error
