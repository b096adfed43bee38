/** A store of documents in a map, behind an asynchronous interface, which several processes may be thought to share. */
import { setImmediate } from 'node:timers/promises'
import {
  comparePositions,
  documentMatches,
  foldFigures,
  isLeased,
  positionIn,
  staleOf,
  timerOf,
  typesOf,
  type CellKind,
  type Clock,
  type Commit,
  type Current,
  type FindQuery,
  type Found,
  type JobDocument,
  type Loaded,
  type LogPage,
  type Position,
  type QueueGroup,
  type StorePort,
  type Transition,
  type TypeFigures,
  type Wanted,
} from 'jobchart/store'

/** What several stores may share. */
export class SharedMap {
  readonly documents = new Map<string, JobDocument>()
  readonly cells = new Map<string, string>()
  readonly figures = new Map<string, TypeFigures>()
  log: Transition[] = []
  last = 0
}

const cellName = (cells: CellKind, field: string): string => `${cells} ${field}`

export class MapPort implements StorePort {
  readonly name = 'map'
  readonly capabilities = { durable: false, shared: true }
  private readonly shared: SharedMap
  private readonly clock: Clock
  private readonly logMax: number

  constructor(shared: SharedMap, clock: Clock, logMax = 10_000) {
    this.shared = shared
    this.clock = clock
    this.logMax = logMax
  }

  open(): void {}
  close(): void {}

  now(): number {
    return this.clock.now()
  }

  async load(wanted: readonly Wanted[], into: Loaded): Promise<void> {
    await setImmediate()
    for (const each of wanted) this.loadOne(each, into)
  }

  private loadOne(wanted: Wanted, into: Loaded): void {
    const { documents, cells } = this.shared
    switch (wanted.kind) {
      case 'row':
        into.row(wanted.id, documents.get(wanted.id) ?? null)
        return
      case 'children': {
        const children = this.all(({ machine }) => machine?.parent?.id === wanted.id)
        into.children(
          wanted.id,
          children.map(({ id }) => id),
        )
        return
      }
      case 'cell':
        into.cell(wanted.cells, wanted.field, cells.get(cellName(wanted.cells, wanted.field)) ?? null)
        return
      case 'values':
        into.values(wanted.cells, this.values(wanted.cells))
        return
      case 'timers': {
        const found = this.all((document) => timerOf(document)?.of === wanted.of)
        const sorted = found.toSorted((a, b) => Number(a.wakeAt) - Number(b.wakeAt) || a.seq - b.seq)
        into.timers(
          wanted.of,
          wanted.limit,
          sorted.slice(0, wanted.limit).map(({ id, wakeAt }) => [id, Number(wakeAt)]),
        )
        return
      }
      case 'heads':
        into.heads(wanted.type, { groups: this.heads(wanted.type, wanted.limit), upto: null })
    }
  }

  private all(fits: (document: JobDocument) => boolean): JobDocument[] {
    return [...this.shared.documents.values()].filter(fits)
  }

  private values(kind: CellKind): string[] {
    return [...this.shared.cells].flatMap(([name, value]) => (name.startsWith(`${kind} `) ? [value] : []))
  }

  private heads(type: string, limit: number): QueueGroup[] {
    const own = this.all((document) => document.type === type)
    const queued = Map.groupBy(
      own.filter(({ state }) => state === 'queued'),
      ({ concurrencyKey }) => concurrencyKey,
    )
    return [...queued].map(([key, jobs]) => ({
      key,
      first: jobs.toSorted((a, b) => b.priority - a.priority || a.place - b.place).slice(0, limit),
      queued: jobs.length,
      leased: own.filter(({ state, concurrencyKey }) => isLeased(state) && concurrencyKey === key).length,
    }))
  }

  async commit(commit: Commit): Promise<number | readonly string[]> {
    await setImmediate()
    const { shared } = this
    const stale = staleOf(commit, this.current(), this.now())
    if (stale.length > 0) return stale
    const base = shared.last + 1
    const writes = commit.writes(base)
    // As if it were written down: nothing is shared with those who have made it.
    for (const { id, after } of structuredClone(writes.jobs)) {
      if (after === null) shared.documents.delete(id)
      else shared.documents.set(id, after)
    }
    for (const { cells, field, value } of writes.cells) {
      if (value === null) shared.cells.delete(cellName(cells, field))
      else shared.cells.set(cellName(cells, field), value)
    }
    for (const type of typesOf(writes)) shared.figures.set(type, foldFigures(shared.figures.get(type), writes, type))
    shared.log = [...shared.log, ...structuredClone(writes.log)].slice(-this.logMax)
    shared.last += writes.count
    return base
  }

  private current(): Current {
    const { documents, cells, figures } = this.shared
    return {
      document: (id) => documents.get(id) ?? null,
      cell: (kind, field) => cells.get(cellName(kind, field)) ?? null,
      values: (kind) => this.values(kind),
      count(state, type) {
        const of = type === null ? [...figures.values()] : [figures.get(type)]
        return of.reduce((sum, each) => sum + (each?.counts[state] ?? 0), 0)
      },
      leasedBy: (worker) => this.all((each) => isLeased(each.state) && each.worker === worker).length,
    }
  }

  async find({ by, newestFirst, filter, states, among, after, limit }: FindQuery): Promise<Found> {
    await setImmediate()
    const direction = newestFirst ? -1 : 1
    const found = this.all((document) => states.has(document.state) && among?.includes(document.id) !== false)
      .flatMap((document): { document: JobDocument; position: Position }[] => {
        const position = positionIn(by, document)
        const isAfter = position !== null && (after === null || direction * comparePositions(position, after) > 0)
        return isAfter && documentMatches(document, filter) ? [{ document, position }] : []
      })
      .toSorted((a, b) => direction * comparePositions(a.position, b.position))
    const documents = found.slice(0, limit).map(({ document }) => document)
    return { documents, more: found.length > limit, last: this.shared.last }
  }

  async figures() {
    await setImmediate()
    return { byType: new Map(this.shared.figures), last: this.shared.last }
  }

  async log(after: number, limit: number): Promise<LogPage> {
    await setImmediate()
    const { log, last } = this.shared
    const entries = log.filter(({ seq }) => seq > after).slice(0, limit)
    return { entries: structuredClone(entries), first: log[0]?.seq ?? last + 1, last }
  }
}
