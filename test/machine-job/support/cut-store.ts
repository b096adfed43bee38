/**
 * A store that one process loses for ever at a given write, as if it were killed there: nothing comes back any more.
 */
import type { Store } from 'jobchart'

/** `before`: the write never reaches the store · `after`: it does, and its answer never comes back. */
export type CutKind = 'before' | 'after'

export interface Cut {
  /** The first write is 1. */
  readonly at: number
  readonly kind: CutKind
}

export interface CutStore extends Store {
  /** Writes that have reached the store. */
  readonly writes: number
  readonly isCut: boolean
  /** Lets go of what waits for an answer, so that its process can be ended. */
  release(): void
}

export function cutStore(store: Store, cut: Cut | null, onCut: () => void): CutStore {
  let writes = 0
  let isCut = false
  let released = false
  const hanging: (() => void)[] = []
  const never = (): Promise<never> =>
    new Promise((_, reject) => {
      const gone = (): void => reject(new Error('this process is dead'))
      if (released) gone()
      else hanging.push(gone)
    })
  const die = (): Promise<never> => {
    isCut = true
    onCut()
    return never()
  }
  const read = <T>(call: () => T): T | Promise<never> => (isCut ? never() : call())
  function write<T>(call: () => T, counts: (answer: Awaited<T>) => boolean = () => true): T | Promise<never> {
    if (isCut) return never()
    const last = cut !== null && writes + 1 === cut.at
    if (last && cut.kind === 'before') return die()
    const answer = call()
    if (answer instanceof Promise) throw new TypeError('a store that answers at once is needed here')
    if (!counts(answer as Awaited<T>)) return answer
    writes++
    return last ? die() : answer
  }
  return {
    name: store.name,
    capabilities: store.capabilities,
    get writes() {
      return writes
    },
    get isCut() {
      return isCut
    },
    release() {
      isCut = true
      released = true
      for (const gone of hanging.splice(0)) gone()
    },
    now: () => store.now(),
    watch: (listener) => store.watch((hint) => (isCut ? undefined : listener(hint))),
    open: (host) => store.open(host),
    close: () => store.close(),
    // A claim that gives nothing is no write, and what it would give is not known before.
    claim(request) {
      if (isCut) return never()
      const answer = store.claim(request)
      if ('then' in answer) throw new TypeError('a store that answers at once is needed here')
      if (answer.jobs.length === 0) return answer
      return ++writes === cut?.at ? die() : answer
    },
    insert: (requests) => write(() => store.insert(requests)),
    settle: (settlements) => write(() => store.settle(settlements)),
    checkpoint: (requests) => write(() => store.checkpoint(requests)),
    cancel: (requests) => write(() => store.cancel(requests)),
    send: (requests) => write(() => store.send(requests)),
    ...(store.confirm && { confirm: (leases) => store.confirm?.(leases) ?? [] }),
    // A heartbeat alone is no write: when one comes depends on the time of day. What it carries of a step is one.
    extend(request) {
      if (isCut) return never()
      const saves = request.heartbeats.some(({ steps }) => steps !== undefined)
      const last = saves && cut !== null && writes + 1 === cut.at
      if (last && cut.kind === 'before') return die()
      const answer = store.extend(request)
      if (saves) writes++
      return last ? die() : answer
    },
    schedules: store.schedules,
    bulk: store.bulk,
    reindex: (requests) => read(() => store.reindex(requests)),
    checkpoints: (id) => read(() => store.checkpoints(id)),
    retry: (ids, fromStart, dropInbox) => read(() => store.retry(ids, fromStart, dropInbox)),
    discard: (ids) => read(() => store.discard(ids)),
    promote: (limit) => read(() => store.promote(limit)),
    rescue: (limit) => read(() => store.rescue(limit)),
    retain: (policies) => read(() => store.retain(policies)),
    prune: (limit) => read(() => store.prune(limit)),
    get: (ids) => read(() => store.get(ids)),
    list: (query) => read(() => store.list(query)),
    counts: () => read(() => store.counts()),
    machineCounts: (type) => read(() => store.machineCounts(type)),
    heat: (query) => read(() => store.heat(query)),
    queues: () => read(() => store.queues()),
    queue: (type, change) => read(() => store.queue(type, change)),
    worker: (id, info) => read(() => store.worker(id, info)),
    queuedSince: (types) => read(() => store.queuedSince(types)),
    activity: (query) => read(() => store.activity(query)),
    failures: (query) => read(() => store.failures(query)),
    failureMerges: (change) => read(() => store.failureMerges(change)),
    workers: () => read(() => store.workers()),
    transitions: (from, limit) => read(() => store.transitions(from, limit)),
  }
}
