/** Reading: jobs, pages of them, counts, queues, workers, schedules and the log as they are now. */
import { activityFigures, bucketsOf, firstPeriod, noActivity, type Tally } from '../../core/activity.ts'
import { caps } from '../../core/caps.ts'
import {
  entryNumber,
  inSequence,
  isListed,
  pageCursor,
  positionAt,
  selectionAfter,
  selectionEnd,
  selectionRange,
  withCursor,
  type Position,
} from '../../core/cursor.ts'
import { addHeat, heatFrom, heatHours, storedHeat, type HeatSums } from '../../core/heat.ts'
import { isOfIds, recordOfId } from '../../core/record-fields.ts'
import type { HistoryEntry, JobRecord } from '../../core/record.ts'
import { isLeased, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import type { MachineNameKind } from '../../core/machine-tally.ts'
import type { DueSchedules, DueSchedulesRequest, StoredSchedule } from '../../core/schedule-record.ts'
import { claimable } from '../../core/compiled-arrows.ts'
import { isForgotten, isLost } from '../../core/workers.ts'
import type {
  ActivityPeriod,
  ActivityQuery,
  Counts,
  FailureGroup,
  FailureQuery,
  FoundTerms,
  HeatQuery,
  JobPage,
  ListOrder,
  ListQuery,
  MachineCounts,
  QueueActivity,
  QueueInfo,
  StoredHeat,
  TermQuery,
  TransitionPage,
  WorkerInfo,
  WorkerRecord,
} from '../../store.ts'
import type { Commands, Reply } from './connection.ts'
import { Epochs } from './epoch.ts'
import { figuresOfEach } from './each-type.ts'
import { allTypes, figuresFrom, lastFrom, periodOf, seqField, typesText, type TypeFigures } from './figures.ts'
import { failureName, type Keys } from './keys.ts'
import { leasedIds } from './leases.ts'
import { dataAt, pairs, parsedAll, rowsFrom, scored, texts, unreadableOf, type SetAside } from './loading.ts'
import type { CellKind } from '../remote/cells.ts'
import type { Need } from '../remote/needs.ts'
import { partsOf } from '../remote/parts.ts'
import { recordOf, type StoredJob } from './records.ts'
import {
  dataFields,
  flagLetters,
  scriptText,
  textOfScript,
  unlessUnreadable,
  type DataField,
  type StoredRow,
} from './row-text.ts'
import type { Scripts } from './scripts.ts'
import { Search, type FoundJob } from './search.ts'
import { findTerms } from './terms.ts'
import { selectionName, type WorkingSet } from '../remote/working-set.ts'
import { entryOf, historyEntries, separator } from './history-text.ts'
import { chunk } from './walks.ts'

/** A worker; they are listed in the order in which they were made known. */
interface KnownWorker {
  readonly info: WorkerInfo
  readonly number: number
  readonly seenAt: number
}

/** When a queued job made its last transition; null if it is no longer queued. */
function queuedAt(row: StoredRow | null): number | null {
  if (row === null || !claimable.has(row.state)) return null
  return historyEntries(row.history).at(-1)?.at ?? Number(row.field('enqueuedAt'))
}

type ReadingScripts = Pick<
  Scripts<'due' | 'figures' | 'fill' | 'first' | 'having' | 'look' | 'lookEnded' | 'terms'>,
  'run'
>

export class Reading {
  private readonly redis: Commands
  private readonly keys: Keys
  private readonly epochs: Epochs
  private readonly search: Search
  private readonly scripts: ReadingScripts

  private readonly setAside: SetAside

  /** @param setAside is called with jobs that cannot be read */
  constructor(redis: Commands, keys: Keys, epochs: Epochs, scripts: ReadingScripts, setAside: SetAside) {
    this.setAside = setAside
    this.epochs = epochs
    this.redis = redis
    this.keys = keys
    this.scripts = scripts
    this.search = new Search(redis, keys, scripts, setAside)
  }

  // ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(ids: readonly string[]): Promise<(JobRecord | null)[]> {
    return this.records(ids, await this.stored(ids, dataFields))
  }

  /** Records of stored jobs; null for one that is not there, or that cannot be read. */
  private async records<Name extends keyof JobRecord>(
    ids: readonly string[],
    stored: readonly (StoredJob | null)[],
    fields?: readonly Name[],
  ): Promise<(Pick<JobRecord, Name> | null)[]> {
    const records = stored.map((job) => (job === null ? null : unlessUnreadable(() => recordOf<Name>(job, fields))))
    const unreadable = ids.filter((_, i) => stored[i] !== null && records[i] === null)
    if (unreadable.length > 0) await this.setAside(unreadable)
    return records
  }

  /** The ids of jobs that were set aside. */
  async unreadable(): Promise<string[]> {
    return texts(await this.redis.send(['HKEYS', this.keys.aside])).toSorted()
  }

  /**
   * Some in one round trip: a command holds up every other client.
   * @param data the fields that are kept apart to be read; `machines`: checkpoint and inbox, too
   */
  private async stored(
    ids: readonly string[],
    data: readonly DataField[],
    machines = true,
  ): Promise<(StoredJob | null)[]> {
    const jobs: (StoredJob | null)[] = []
    for (let i = 0; i < ids.length; i += chunk) {
      jobs.push(...(await this.storedTogether(ids.slice(i, i + chunk), data, machines)))
    }
    return jobs
  }

  private async storedTogether(
    ids: readonly string[],
    data: readonly DataField[],
    machines: boolean,
  ): Promise<(StoredJob | null)[]> {
    const { keys, redis } = this
    const [rows, ...replies] = await redis.pipeline([
      ['HMGET', keys.jobs, ...ids],
      ...data.map((field) => ['HMGET', keys.data(field), ...ids]),
    ])
    const parsed = rowsFrom(rows)
    const machineIds = ids.filter((_, i) => machines && parsed[i]?.has.includes(flagLetters.machine) === true)
    const beside = await redis.pipeline(
      machineIds.flatMap((id) => [
        ['LINDEX', keys.checkpoints(id), '-1'],
        ['LRANGE', keys.inbox(id), '0', '-1'],
      ]),
    )
    const readJob = (row: StoredRow, i: number): StoredJob => {
      const id = ids[i] as string
      const machine = machineIds.indexOf(id)
      const checkpoint = machine < 0 ? null : beside[2 * machine]
      return {
        id,
        row: row.withData(dataAt(i, data, replies), data),
        checkpoint: typeof checkpoint === 'string' ? (JSON.parse(checkpoint) as CheckpointEntry) : null,
        inbox: machine < 0 ? [] : parsedAll<InboxEntry>(beside[2 * machine + 1]),
      }
    }
    const jobs = parsed.map((row, i) => (row === null ? null : unlessUnreadable(() => readJob(row, i))))
    const unreadable = unreadableOf(ids, rows, jobs)
    if (unreadable.length > 0) await this.setAside(unreadable)
    return jobs
  }

  async list<Name extends keyof JobRecord>(query: ListQuery<Name>): Promise<JobPage<Pick<JobRecord, Name>>> {
    const { after, limit = caps.page, order, orderBy, fields, ...filter } = query
    const by = orderBy ?? 'enqueued'
    // Before the jobs: what is written meanwhile is in the log after it, whether the page has it or not.
    const seq = lastFrom(await this.redis.send(['HGET', this.keys.figures, seqField]))
    const range = {
      by,
      newestFirst: order === 'newest',
      after: after === undefined ? null : await this.positionAfter(by, after),
      limit: Math.min(limit, caps.pageMax),
    }
    const isIds = isOfIds(fields)
    const ofIds = isIds ? await this.search.findIds(filter, range) : null
    const { jobs, next } = ofIds ?? (await this.search.find(filter, () => true, range))
    const records = isIds ? jobs.map(({ id }) => recordOfId<Name>(id)) : await this.recordsOf(jobs, fields)
    const page = Object.assign(records, { next: next === null ? undefined : pageCursor(by, next) })
    return withCursor(page, this.epochs.cursor(seq))
  }

  private async recordsOf<Name extends keyof JobRecord>(
    jobs: readonly Pick<FoundJob, 'id'>[],
    fields: readonly Name[] | undefined,
  ): Promise<Pick<JobRecord, Name>[]> {
    const names = fields as readonly (keyof JobRecord)[] | undefined
    const data = dataFields.filter((name) => names?.includes(name) !== false)
    const machines = names === undefined || names.includes('checkpoint') || names.includes('inbox')
    const ids = jobs.map(({ id }) => id)
    const stored = await this.stored(ids, data, machines)
    return (await this.records<Name>(ids, stored, fields)).filter((record) => record !== null)
  }

  private async positionAfter(by: ListOrder, cursor: string): Promise<Position> {
    const [row] = rowsFrom(await this.redis.send(['HMGET', this.keys.jobs, cursor]))
    return positionAt(by, cursor, () => {
      if (row === null || row === undefined || !isListed(by, row.state)) return undefined
      if (by !== 'due') return inSequence(by === 'finished' ? row.last : row.seq)
      const wakeAt = row.field('wakeAt')
      return wakeAt === '' ? undefined : { dueAt: Number(wakeAt), number: row.seq }
    })
  }

  /** Finds the page of a selection by filter. */
  async select(need: Need & { readonly kind: 'selected' }, into: WorkingSet): Promise<void> {
    const { selection, states, among } = need
    const { filter, after, limit = caps.selection } = selection
    const range = selectionRange(after, lastFrom(await this.redis.send(['HGET', this.keys.figures, seqField])))
    const page = { by: 'enqueued', newestFirst: false, ...range, limit: Math.min(limit, caps.selection) } as const
    const isEligible = (state: JobState): boolean => states.has(state)
    const { jobs, next } =
      among === undefined
        ? await this.search.find(filter, isEligible, page)
        : { jobs: await this.search.among(among, filter, isEligible, range.until), next: null }
    for (const { id, row } of jobs) if (!into.rows.has(id)) into.rows.set(id, row)
    into.selections.set(selectionName(selection, among), {
      ids: jobs.map(({ id }) => id),
      // Jobs that were left by an earlier page do not move the cursor.
      next: among === undefined ? selectionAfter(next, range) : (after ?? null),
      end: selectionEnd(range),
    })
  }

  terms(query: TermQuery): Promise<FoundTerms> {
    return findTerms(this.scripts, query)
  }

  async checkpoints(id: string): Promise<CheckpointEntry[]> {
    return parsedAll<CheckpointEntry>(await this.redis.send(['LRANGE', this.keys.checkpoints(id), '0', '-1']))
  }

  // ── queues ───────────────────────────────────────────────────────────────────────────────────────────────────────

  async queues(): Promise<QueueInfo[]> {
    const byType = await this.figuresOf(null)
    return [...byType].map(infoOf).toSorted((a, b) => (a.type < b.type ? -1 : 1))
  }

  async queue(type: string): Promise<QueueInfo> {
    return infoOf([type, (await this.figuresOf([type])).get(type)])
  }

  async queuedSince(types: readonly string[]): Promise<(number | null)[]> {
    const since: (number | null)[] = []
    for (const part of partsOf(types)) {
      const [, , found] = await this.scripts.run('first', ['', typesText(part)])
      const rows = rowsFrom(await this.redis.send(['HMGET', this.keys.jobs, ...texts(found)]))
      since.push(...rows.map(queuedAt))
    }
    return since
  }

  async machineCounts(type: string): Promise<MachineCounts> {
    const found = pairs(await this.redis.send(['HGETALL', this.keys.machineCounts(type)]))
    const of = (kind: MachineNameKind | 'outcome'): Record<string, number> =>
      Object.fromEntries(
        found.flatMap(([field, count]) =>
          field.startsWith(`${kind}:`) ? [[field.slice(kind.length + 1), Number(count)]] : [],
        ),
      )
    return { states: of('state'), tags: of('tag'), outcomes: of('outcome') }
  }

  async heat({ type, period }: HeatQuery, now: number): Promise<StoredHeat> {
    const sums: HeatSums = new Map()
    const hours = heatHours(period, now)
    // A day at a time: the numbers of a week would hold up the process.
    for (let first = 0; first < hours.length; first += 24) {
      const day = hours.slice(first, first + 24)
      const found = await Promise.all(day.map((at) => this.redis.send(['HGETALL', this.keys.heatAt(type, at)])))
      for (const fields of found.map((hour) => new Map(pairs(hour)))) {
        for (const [field, count] of fields) {
          if (!field.startsWith('n')) continue
          const name = field.slice(1)
          addHeat(sums, name, { count: Number(count), lastId: fields.get(`j${name}`) ?? '' })
        }
      }
    }
    return storedHeat(heatFrom(period, now), sums)
  }

  async counts(): Promise<Counts> {
    const [, , seq, reply] = await this.scripts.run('figures', [''])
    const found = [...figuresFrom(reply)].map(([type, { counts }]) => [type, counts] as const)
    const { [allTypes]: all = noCounts(), ...types } = Object.fromEntries(found)
    return withCursor({ ...all, types }, this.epochs.cursor(Number(seq)))
  }

  /** Of these types, or of all. */
  private async figuresOf(types: readonly string[] | null): Promise<Figures> {
    const { redis, keys, scripts } = this
    return figuresOfEach(redis, keys, scripts, types?.map(scriptText) ?? null)
  }

  async activity(query: ActivityQuery, now: number): Promise<QueueActivity[]> {
    const { period, queues } = query
    const types = Array.isArray(queues) ? (queues as readonly string[]) : null
    const starts = ['ZRANGEBYSCORE', this.keys.activity(period), String(firstPeriod(query, now)), '+inf']
    let figures = await this.figuresOf(types)
    const periods: PeriodActivity[] = []
    for (let asked = types; asked?.length !== 0;) {
      const begun = texts(await this.redis.send(starts))
      const read = await (asked === null ? this.allActivity(period, begun) : this.activityOf(asked, period, begun))
      // The minute of each type's last change is written with its counts, and joins the others at its next one: where
      // it has joined them meanwhile, the type is read again.
      const later = await this.figuresOf(asked)
      const joined = new Set([...later.keys()].filter((type) => !isSameMinute(figures.get(type), later.get(type))))
      for (const { at, byType } of read) {
        periods.push({ at, byType: new Map([...byType].filter(([type]) => !joined.has(type))) })
      }
      figures = new Map([...figures, ...later])
      asked = [...joined]
    }
    const from = firstPeriod(query, now)
    const latest = [...figures].flatMap(([type, each]): PeriodActivity[] => {
      const at = periodOf(period, each)
      return at < from ? [] : [{ at, byType: new Map([[type, each.tally]]) }]
    })
    const found = [...periods, ...latest]
    if (queues === 'total') {
      const all = found.flatMap(({ at, byType }) => [...byType.values()].map((tally) => [at, tally] as const))
      return [{ type: null, buckets: bucketsOf(all) }]
    }
    const shown = types ?? [...figures.keys()]
    const byQueue = new Map(shown.map((type): [string, [number, Tally][]] => [type, []]))
    for (const { at, byType } of found) for (const [type, tally] of byType) byQueue.get(type)?.push([at, tally])
    return [...byQueue].map(([type, own]) => ({ type, buckets: bucketsOf(own) }))
  }

  private async allActivity(period: ActivityPeriod, starts: readonly string[]): Promise<PeriodActivity[]> {
    const { keys, redis } = this
    if (starts.length === 0) return []
    const replies = await redis.pipeline(starts.map((at) => ['HGETALL', keys.activityAt(period, at)]))
    return replies.map((reply, i) => {
      const byType = new Map<string, Tally>()
      for (const [name, figure] of pairs(reply)) {
        const colon = name.indexOf(':')
        const type = textOfScript(name.slice(colon + 1))
        let tally = byType.get(type)
        if (tally === undefined) byType.set(type, (tally = noActivity()))
        tally[Number(name.slice(0, colon))] = Number(figure)
      }
      return { at: Number(starts[i]), byType }
    })
  }

  private async activityOf(
    types: readonly string[],
    period: ActivityPeriod,
    starts: readonly string[],
  ): Promise<PeriodActivity[]> {
    const { keys, redis } = this
    if (starts.length === 0) return []
    const found: PeriodActivity[] = []
    for (const part of partsOf(types)) {
      const names = part.flatMap((type) => activityFigures.map((_, i) => `${i}:${scriptText(type)}`))
      const replies = await redis.pipeline(starts.map((at) => ['HMGET', keys.activityAt(period, at), ...names]))
      for (const [i, reply] of replies.entries()) {
        const figures = (reply as readonly Reply[]).map(Number)
        const byType = part.map((type, n) => {
          return [type, figures.slice(n * activityFigures.length, (n + 1) * activityFigures.length)] as const
        })
        const active = byType.filter(([, tally]) => tally.some((figure) => figure !== 0))
        found.push({ at: Number(starts[i]), byType: new Map(active) })
      }
    }
    return found
  }

  async failures({ type, limit = caps.page }: FailureQuery): Promise<FailureGroup[]> {
    const { keys, redis } = this
    const most = String(Math.min(limit, caps.pageMax) - 1)
    const found = texts(await redis.send(['ZREVRANGE', keys.failures(type ?? null), '0', most]))
    if (found.length === 0) return []
    const names = type === undefined ? found : found.map((fingerprint) => failureName(type, fingerprint))
    const replies = await redis.pipeline(names.map((name) => ['HGETALL', keys.failure(name)]))
    return replies.flatMap((reply) => {
      const group = Object.fromEntries(pairs(reply)) as Partial<Record<keyof FailureGroup, string>>
      // It was removed meanwhile.
      if (group.type === undefined) return []
      const { fingerprint = '', name = '', code = null, message = '', lastId = '' } = group
      const [count, dead, firstAt, lastAt] = [group.count, group.dead, group.firstAt, group.lastAt].map(Number) as [
        number,
        number,
        number,
        number,
      ]
      return [
        { type: textOfScript(group.type), fingerprint, name, code, message, count, dead, firstAt, lastAt, lastId },
      ]
    })
  }

  // ── workers ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The workers that were lost so long ago that they are listed no more. */
  async forgottenWorkers(now: number): Promise<string[]> {
    const known = await this.knownWorkers()
    return known.filter(({ info, seenAt }) => isForgotten(info, now - seenAt)).map(({ info }) => info.id)
  }

  private async knownWorkers(): Promise<KnownWorker[]> {
    const [infos, seen] = await this.redis.pipeline([
      ['HGETALL', this.keys.workers],
      ['ZRANGE', this.keys.seen, '0', '-1', 'WITHSCORES'],
    ])
    const seenAt = new Map(scored(seen))
    const known = pairs(infos).flatMap(([id, text]) => {
      if (id === '') return []
      const kept = JSON.parse(text) as Omit<KnownWorker, 'seenAt'>
      return [{ ...kept, seenAt: seenAt.get(id) ?? 0 }]
    })
    return known.toSorted((a, b) => a.number - b.number)
  }

  /** The workers with what each holds, longest first. */
  async workers(now: number): Promise<WorkerRecord[]> {
    const ids = await leasedIds(this.redis, this.keys)
    const jobs = (await this.stored(ids, ['checkin'], false)).filter((job) => job !== null)
    const leased = jobs.filter(({ row }) => isLeased(row.state))
    const byWorker = Map.groupBy(leased.toSorted(byStart), ({ row }) => textOfScript(row.field('worker')))
    const known = (await this.knownWorkers()).filter(({ info, seenAt }) => !isForgotten(info, now - seenAt))
    return known.map(({ info, seenAt }) => {
      const running = (byWorker.get(info.id) ?? []).map(runningJob)
      return { ...info, seenAt, lost: isLost(info, now - seenAt), running }
    })
  }

  /** All small values of a kind. */
  async values(cells: CellKind): Promise<string[]> {
    return texts(await this.redis.send(['HVALS', this.keys.cells(cells)]))
  }

  // ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────

  async schedules(names?: readonly string[]): Promise<StoredSchedule[]> {
    const key = this.keys.cells('schedules')
    if (names === undefined) {
      const all = pairs(await this.redis.send(['HGETALL', key])).toSorted(([a], [b]) => (a < b ? -1 : 1))
      return all.map(([, text]) => JSON.parse(text) as StoredSchedule)
    }
    const wanted = [...new Set(names)]
    if (wanted.length === 0) return []
    const reply = await this.redis.send(['HMGET', key, ...wanted])
    return (reply as readonly Reply[]).flatMap((text) =>
      typeof text === 'string' ? [JSON.parse(text) as StoredSchedule] : [],
    )
  }

  async dueSchedules({ computed, limit }: DueSchedulesRequest, now: number): Promise<DueSchedules> {
    const ticks = scored(await this.redis.send(['ZRANGE', this.keys.ticks, '0', String(limit), 'WITHSCORES']))
    const dueNames = ticks.filter(([, at]) => at <= now).slice(0, limit)
    const kept = await this.schedules(dueNames.map(([name]) => name))
    const own = (await this.schedules(computed)).filter((schedule) => schedule.computed)
    const due = [...kept, ...own].filter((schedule) => tickAt(schedule) <= now).toSorted(earlier)
    const nextAt = Math.min(ticks[0]?.[1] ?? Infinity, ...own.map(tickAt))
    return {
      schedules: due.slice(0, limit),
      nextAt: nextAt === Infinity ? null : nextAt,
      more: due.length >= limit,
    }
  }

  // ── the log ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private async isGone(cursor: string): Promise<boolean> {
    const isKnown = this.epochs.knows(cursor)
    const [last, epochs] = await this.redis.pipeline([
      ['HGET', this.keys.figures, seqField],
      ...(isKnown ? [] : [['LRANGE', this.keys.epochs, '0', '-1']]),
    ])
    return (isKnown ? this.epochs : new Epochs(texts(epochs))).isGone(cursor, lastFrom(last))
  }

  /** An entry has the number of the last of its transitions, which are numbered without a gap. */
  async transitions(cursor: string | null, limit: number): Promise<TransitionPage> {
    const isGone = cursor !== null && (await this.isGone(cursor))
    // After a rollback from the beginning: a reader that was ahead has seen what never was.
    const after = isGone ? 0 : entryNumber(cursor?.replace(/-[0-9a-f]{12}$/, '') ?? null)
    const found: Logged[] = []
    let oldest: number | null = null
    for (let from = after; ;) {
      const [first, page] = await this.redis.pipeline([
        ['XRANGE', this.keys.log, '-', '+', 'COUNT', '1'],
        ['XRANGE', this.keys.log, `${from + 1}-0`, '+', 'COUNT', String(logChunk)],
      ])
      oldest ??= logged(first)[0]?.seq ?? 1
      const part = logged(page).filter(({ seq }) => seq > from)
      found.push(...part)
      from = found.at(-1)?.seq ?? from
      if (part.length === 0 || found.length >= limit) break
    }
    const transitions = found.slice(0, limit).map((entry) => ({ ...entry, cursor: this.epochs.cursor(entry.seq) }))
    return { transitions, next: transitions.at(-1)?.cursor ?? cursor, lost: isGone || (oldest ?? 1) > after + 1 }
  }
}

/** Entries of the log that are read at once, of up to 100 transitions each. */
const logChunk = 20

type Logged = HistoryEntry & { readonly id: string; readonly type: string }

/** The transitions of entries of the log. */
const logged = (reply: Reply | undefined): Logged[] =>
  (Array.isArray(reply) ? (reply as readonly Reply[]) : []).flatMap((entry) =>
    transitionsOf(texts((entry as readonly Reply[])[1])),
  )

/**
 * Ids and texts in turn; or an empty text, the text of the first of some transitions that differ in nothing but the
 * job, with how many they are, and their ids. Without a type in that text each id is followed by its own.
 */
function transitionsOf(parts: readonly string[]): Logged[] {
  const found: Logged[] = []
  for (let i = 0; i < parts.length; i += 2) {
    const [first, typeAndText] = [parts[i] as string, parts[i + 1] as string]
    const end = typeAndText.indexOf(separator)
    const textAt = typeAndText.indexOf('[', end)
    const type = textOfScript(typeAndText.slice(0, end))
    const entry = entryOf(typeAndText.slice(textAt))
    if (first !== '') {
      found.push({ id: first, type, ...entry })
      continue
    }
    const amount = Number(typeAndText.slice(end + 1, textAt))
    const step = end === 0 ? 2 : 1
    for (let k = 0; k < amount; k++) {
      const at = i + 2 + step * k
      const ofType = end === 0 ? textOfScript(parts[at + 1] as string) : type
      found.push({ id: parts[at] as string, type: ofType, ...entry, seq: entry.seq + k })
    }
    i += step * amount + ((step * amount) % 2)
  }
  return found
}

/** The figures of types in a period. */
interface PeriodActivity {
  readonly at: number
  readonly byType: ReadonlyMap<string, Tally>
}

const tickAt = ({ paused, nextAt }: StoredSchedule): number => (paused || nextAt === null ? Infinity : nextAt)

const earlier = (a: StoredSchedule, b: StoredSchedule): number => tickAt(a) - tickAt(b) || (a.name < b.name ? -1 : 1)

const noCounts = (): Record<JobState, number> =>
  Object.fromEntries(jobStates.map((state) => [state, 0])) as Record<JobState, number>

type Figures = ReadonlyMap<string, TypeFigures>

const isSameMinute = (before: TypeFigures | undefined, after: TypeFigures | undefined): boolean =>
  before?.minute === after?.minute

const infoOf = ([type, figures]: readonly [type: string, figures: TypeFigures | undefined]): QueueInfo => ({
  type,
  paused: figures?.paused === true,
  counts: figures?.counts ?? noCounts(),
})

const byStart = ({ row: a }: StoredJob, { row: b }: StoredJob): number =>
  Number(a.field('startedAt')) - Number(b.field('startedAt')) || a.seq - b.seq

const runningJob = (job: StoredJob): WorkerRecord['running'][number] => {
  const { id, type, attempt, startedAt, checkin } = recordOf(job, ['id', 'type', 'attempt', 'startedAt', 'checkin'])
  return { id, type, attempt, since: startedAt ?? 0, checkin }
}
