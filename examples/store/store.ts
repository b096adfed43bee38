/** A store of jobs on a `KeyValueServer`, written from docs/stores.md. */
import {
  comparePositions,
  documentMatches,
  foldFigures,
  isLeased,
  JobchartError,
  positionIn,
  remoteStore,
  staleOf,
  timerOf,
  typesOf,
  type Clock,
  type Commit,
  type Current,
  type Hint,
  type JobDocument,
  type Loaded,
  type QueueHeads,
  type Store,
  type StorePort,
  type Transition,
  type TypeFigures,
  type Wanted,
  type Writes,
} from 'jobchart/store'
import type { KeyValueServer, Range, Snapshot } from './server.ts'

export const keyValueStore = (server: KeyValueServer): Store => remoteStore(portOf(server))

/** Entries of the log that are kept. */
const logMax = 10_000
/** How often a commit is tried whose writes others forestall. */
const triesMax = 1_000

const head = { key: 'head' }
const jobs = { prefix: 'job/' }
const figures = { prefix: 'figures/' }
const cellsOf = (cells: string): string => `cell/${cells}/`
const logKey = (seq: number): string => `log/${seq}`

/** The numbers of the first transition that is kept, and of the last. Each commit writes it, and so depends on it. */
interface Head {
  readonly first: number
  readonly last: number
}

/** What was read at one moment. */
class Reading {
  private readonly entries: Snapshot['entries']
  private readonly parsed = new Map<string, unknown>()

  constructor({ entries }: Snapshot) {
    this.entries = entries
  }

  text(key: string): string | null {
    return this.entries.get(key)?.value ?? null
  }

  private json(key: string): unknown {
    const text = this.text(key)
    if (text !== null && !this.parsed.has(key)) this.parsed.set(key, JSON.parse(text))
    return this.parsed.get(key) ?? null
  }

  keys(prefix: string): string[] {
    return [...this.entries.keys()].filter((key) => key.startsWith(prefix))
  }

  texts(prefix: string): string[] {
    return this.keys(prefix).flatMap((key) => this.text(key) ?? [])
  }

  get head(): Head & { readonly version: number } {
    const { first, last } = (this.json(head.key) as Head | null) ?? { first: 1, last: 0 }
    return { first, last, version: this.entries.get(head.key)?.version ?? 0 }
  }

  job(id: string): JobDocument | null {
    return this.json(jobs.prefix + id) as JobDocument | null
  }

  jobs(): JobDocument[] {
    return this.keys(jobs.prefix).map((key) => this.json(key) as JobDocument)
  }

  figuresOf(type: string): TypeFigures | undefined {
    return (this.json(figures.prefix + type) ?? undefined) as TypeFigures | undefined
  }

  figures(): Map<string, TypeFigures> {
    const keys = this.keys(figures.prefix)
    return new Map(keys.map((key) => [key.slice(figures.prefix.length), this.json(key) as TypeFigures]))
  }
}

const unavailable = (what: string, cause?: unknown): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `key-value: ${what}`, { hint: 'The call may be repeated.', cause })

async function reached<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw unavailable('the server cannot be reached', cause)
  }
}

function portOf(server: KeyValueServer): StorePort {
  let clock: Clock
  /** How far the server's clock is ahead of ours, ms. */
  let aheadMs = 0
  const read = async (ranges: readonly Range[]): Promise<Reading> => {
    const snapshot = await reached(server.read(ranges))
    aheadMs = snapshot.now - clock.now()
    return new Reading(snapshot)
  }
  const now = (): number => clock.now() + aheadMs
  return {
    name: 'key-value',
    capabilities: { durable: false, shared: true },
    async open(options) {
      clock = options.clock
      await read([])
    },
    close() {},
    now,
    async load(wanted, into) {
      const reading = await read(wanted.map(rangeOf))
      for (const each of wanted) take(each, reading, into)
    },
    async commit(commit) {
      for (let tries = 0; tries < triesMax; tries++) {
        const reading = await read(rangesOf(commit))
        const stale = staleOf(commit, currentOf(reading), now())
        if (stale.length > 0) return stale
        const { last, version } = reading.head
        const values = valuesOf(commit.writes(last + 1), reading)
        if (await reached(server.write(new Map([[head.key, version]]), values))) return last + 1
      }
      throw unavailable('other processes have written each time')
    },
    async find({ by, newestFirst, filter, states, among, after, limit }) {
      const reading = await read([head, jobs])
      const direction = newestFirst ? -1 : 1
      const all = reading.jobs().filter(({ id, state }) => states.has(state) && among?.includes(id) !== false)
      const found = all.flatMap((document) => {
        const position = positionIn(by, document)
        const isAfter = position !== null && (after === null || direction * comparePositions(position, after) > 0)
        return isAfter && documentMatches(document, filter) ? [{ document, position }] : []
      })
      const sorted = found.toSorted((a, b) => direction * comparePositions(a.position, b.position))
      const documents = sorted.slice(0, limit).map(({ document }) => document)
      return { documents, more: found.length > limit, last: reading.head.last }
    },
    async figures() {
      const reading = await read([head, figures])
      return { byType: reading.figures(), last: reading.head.last }
    },
    async log(after, limit) {
      const { first, last } = (await read([head])).head
      const from = Math.max(after + 1, first)
      const keys = Array.from({ length: Math.max(0, Math.min(limit, last + 1 - from)) }, (_, i) => logKey(from + i))
      const reading = await read([head, ...keys.map((key) => ({ key }))])
      const texts = keys.flatMap((key) => reading.text(key) ?? [])
      return {
        entries: texts.map((text) => JSON.parse(text) as Transition),
        first: reading.head.first,
        last: reading.head.last,
      }
    },
    tell(hints) {
      // Others ask from time to time: what is lost here costs them time, not jobs.
      server.publish(JSON.stringify(hints)).catch(() => {})
    },
    watch: (listener) =>
      server.subscribe((message) => (JSON.parse(message) as Hint[]).forEach((hint) => listener(hint))),
  }
}

// ── loading ────────────────────────────────────────────────────────────────────────────────────────────────────────

function rangeOf(wanted: Wanted): Range {
  switch (wanted.kind) {
    case 'row':
      return { key: jobs.prefix + wanted.id }
    case 'cell':
      return { key: cellsOf(wanted.cells) + wanted.field }
    case 'values':
      return { prefix: cellsOf(wanted.cells) }
    case 'children':
    case 'timers':
    case 'heads':
      // A server with indexes reads them: here all jobs are looked at.
      return jobs
  }
}

function take(wanted: Wanted, reading: Reading, into: Loaded): void {
  switch (wanted.kind) {
    case 'row':
      return into.row(wanted.id, reading.job(wanted.id))
    case 'cell':
      return into.cell(wanted.cells, wanted.field, reading.text(cellsOf(wanted.cells) + wanted.field))
    case 'values':
      return into.values(wanted.cells, reading.texts(cellsOf(wanted.cells)))
    case 'children': {
      const ids = reading.jobs().flatMap(({ id, machine }) => (machine?.parent?.id === wanted.id ? [id] : []))
      return into.children(wanted.id, ids)
    }
    case 'timers': {
      const found = reading.jobs().flatMap((document) => {
        const timer = timerOf(document)
        return timer?.of === wanted.of ? [[document.id, timer.at, document.seq] as const] : []
      })
      const first = found.toSorted((a, b) => a[1] - b[1] || a[2] - b[2]).slice(0, wanted.limit)
      const timed = first.map(([id, at]) => [id, at] as const)
      return into.timers(wanted.of, wanted.limit, timed)
    }
    case 'heads':
      return into.heads(wanted.type, headsOf(reading.jobs(), wanted.type, wanted.limit))
  }
}

function headsOf(documents: readonly JobDocument[], type: string, limit: number): QueueHeads {
  const own = documents.filter((document) => document.type === type)
  const queued = Map.groupBy(
    own.filter(({ state }) => state === 'queued'),
    ({ concurrencyKey }) => concurrencyKey,
  )
  const groups = [...queued].map(([key, all]) => ({
    key,
    first: all.toSorted((a, b) => b.priority - a.priority || a.place - b.place).slice(0, limit),
    queued: all.length,
    leased: own.filter(({ state, concurrencyKey }) => isLeased(state) && concurrencyKey === key).length,
  }))
  // Something of each key is told.
  return { groups, upto: null }
}

// ── committing ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a commit depends on. */
function rangesOf({ revisions, cells, slots }: Commit): Range[] {
  return [
    head,
    figures,
    ...[...revisions.keys()].map((id) => ({ key: jobs.prefix + id })),
    ...cells.map((each) => ({ key: cellsOf(each.cells) + each.field })),
    // Free slots follow from the workers, and from what each has leased.
    ...(slots.size > 0 ? [jobs, { prefix: cellsOf('workers') }, { prefix: cellsOf('paused') }] : []),
  ]
}

const currentOf = (reading: Reading): Current => ({
  document: (id) => reading.job(id),
  cell: (cells, field) => reading.text(cellsOf(cells) + field),
  values: (cells) => reading.texts(cellsOf(cells)),
  count(state, type) {
    const all = type === null ? [...reading.figures().values()] : [reading.figuresOf(type)]
    return all.reduce((sum, each) => sum + (each?.counts[state] ?? 0), 0)
  },
  leasedBy: (worker) => reading.jobs().filter((each) => isLeased(each.state) && each.worker === worker).length,
})

/** What is written by key; null: it is removed. */
function valuesOf(writes: Writes, reading: Reading): Map<string, string | null> {
  const values = new Map<string, string | null>()
  for (const { id, after } of writes.jobs) values.set(jobs.prefix + id, after && JSON.stringify(after))
  for (const { cells, field, value } of writes.cells) values.set(cellsOf(cells) + field, value)
  for (const type of typesOf(writes)) {
    values.set(figures.prefix + type, JSON.stringify(foldFigures(reading.figuresOf(type), writes, type)))
  }
  for (const entry of writes.log) values.set(logKey(entry.seq), JSON.stringify(entry))
  const { first, last } = reading.head
  const next: Head = { first: Math.max(first, last + writes.count + 1 - logMax), last: last + writes.count }
  for (let seq = first; seq < next.first; seq++) values.set(logKey(seq), null)
  return values.set('head', JSON.stringify(next))
}
