/** A store whose module is loaded when it is opened: until then nothing of its driver is in the process. */
import { systemClock } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { sameJson } from '../core/unique.ts'
import type { BulkStore, Hint, ScheduleStore, Store, StoreCapabilities, TransactionStore } from '../store.ts'

/** Methods that a store may omit. */
const optionalMethods = ['announce', 'confirm', 'repair', 'terms', 'unreadable', 'watchEnds'] as const

interface LateStoreOptions {
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** The methods that this store has, of those that a store may omit. */
  readonly optional: readonly (typeof optionalMethods)[number][]
  readonly load: () => Promise<Store>
}

export function lateStore({ name, capabilities, optional, load }: LateStoreOptions): Store {
  let loading: Promise<Store> | null = null
  let loaded: Store | null = null
  let now = (): number => Math.floor(systemClock.now())
  const hints = new LateHints()
  const store = (): Store => {
    if (loaded !== null) return loaded
    throw new JobchartError('STORE_UNAVAILABLE', `the ${name} store is not open`, {
      hint: 'A client or a runtime opens it at its first call, or when it starts.',
    })
  }
  const loadOnce = async (): Promise<Store> => {
    const made = await load()
    const isAsSaid =
      sameJson({ ...made.capabilities }, { ...capabilities }) &&
      optionalMethods.every((method) => (made[method] !== undefined) === optional.includes(method))
    if (!isAsSaid) throw new TypeError(`the ${name} store is not what was said of it before it was loaded`)
    hints.comeFrom(made)
    return (loaded = made)
  }
  return {
    name,
    capabilities,
    now: () => loaded?.now() ?? now(),
    async open(options) {
      now = () => Math.floor(options.clock.now())
      loading ??= loadOnce()
      try {
        await (await loading).open(options)
      } catch (error) {
        // A module that could not be loaded may be there at the next try.
        if (loaded === null) loading = null
        throw error
      }
    },
    close: async () => loaded?.close(),
    watch: (listener) => hints.watch(listener),
    ...(optional.includes('watchEnds') && { watchEnds: () => hints.watchEnds() }),
    insert: (requests) => store().insert(requests),
    claim: (request) => store().claim(request),
    ...optionalOf(store, optional),
    settle: (settlements) => store().settle(settlements),
    extend: (request) => store().extend(request),
    checkpoint: (requests) => store().checkpoint(requests),
    send: (requests) => store().send(requests),
    reindex: (requests) => store().reindex(requests),
    checkpoints: (id) => store().checkpoints(id),
    cancel: (requests) => store().cancel(requests),
    retry: (ids, fromStart, dropInbox, edit) => store().retry(ids, fromStart, dropInbox, edit),
    discard: (ids) => store().discard(ids),
    promote: (limit) => store().promote(limit),
    rescue: (limit) => store().rescue(limit),
    retain: (policies) => store().retain(policies),
    prune: (limit) => store().prune(limit),
    schedules: lateSchedules(() => store().schedules),
    bulk: lateBulk(() => store().bulk),
    ...(capabilities.transactions === true && {
      transactions: lateTransactions(() => expected(store().transactions)),
    }),
    get: (ids) => store().get(ids),
    list: (query) => store().list(query),
    counts: () => store().counts(),
    machineCounts: (type) => store().machineCounts(type),
    heat: (query) => store().heat(query),
    queues: () => store().queues(),
    queue: (type, change) => store().queue(type, change),
    queuedSince: (types) => store().queuedSince(types),
    activity: (query) => store().activity(query),
    failures: (query) => store().failures(query),
    failureMerges: (change) => store().failureMerges(change),
    worker: (id, info) => store().worker(id, info),
    workers: () => store().workers(),
    transitions: (from, limit) => store().transitions(from, limit),
  }
}

/** Hints of a store, for those who watch before it is loaded, too. */
class LateHints {
  private readonly listeners = new Set<(hint: Hint) => void>()
  private source: Store | null = null
  private watchesEnds = false

  comeFrom(store: Store): void {
    this.source = store
    store.watch((hint) => {
      for (const listener of this.listeners) listener(hint)
    })
    if (this.watchesEnds) store.watchEnds?.()
  }

  watch(listener: (hint: Hint) => void): () => void {
    const own = (hint: Hint): void => listener(hint)
    this.listeners.add(own)
    return () => void this.listeners.delete(own)
  }

  watchEnds(): void {
    this.watchesEnds = true
    this.source?.watchEnds?.()
  }
}

const optionalOf = (
  store: () => Store,
  optional: LateStoreOptions['optional'],
): Pick<Store, Exclude<(typeof optionalMethods)[number], 'watchEnds'>> => ({
  ...(optional.includes('announce') && {
    announce: (ids: readonly string[], forMs: number) => expected(store().announce?.(ids, forMs)),
  }),
  ...(optional.includes('confirm') && { confirm: (leases) => expected(store().confirm?.(leases)) }),
  ...(optional.includes('repair') && { repair: () => expected(store().repair?.()) }),
  ...(optional.includes('terms') && { terms: (query) => expected(store().terms?.(query)) }),
  ...(optional.includes('unreadable') && { unreadable: () => expected(store().unreadable?.()) }),
})

function expected<Answer>(answer: Answer | undefined): Answer {
  if (answer === undefined) throw new TypeError('the store lacks a method that it was said to have')
  return answer
}

const lateSchedules = (schedules: () => ScheduleStore): ScheduleStore => ({
  put: (requests) => schedules().put(requests),
  list: (names) => schedules().list(names),
  pause: (request) => schedules().pause(request),
  remove: (names) => schedules().remove(names),
  due: (request) => schedules().due(request),
  fire: (requests) => schedules().fire(requests),
})

const lateTransactions = (transactions: () => TransactionStore): TransactionStore => ({
  write: (tx, intents) => transactions().write(tx, intents),
  fates: (receipts) => transactions().fates(receipts),
  carryOut: (limit) => transactions().carryOut(limit),
})

const lateBulk = (bulk: () => BulkStore): BulkStore => ({
  start: (request) => bulk().start(request),
  advance: (request) => bulk().advance(request),
  stop: (request) => bulk().stop(request),
  list: (only) => bulk().list(only),
})
