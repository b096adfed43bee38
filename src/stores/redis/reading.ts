/** Reading: jobs, pages of them, counts, queues, workers, schedules and the log as they are now. */
import { caps } from '../../core/caps.ts'
import { cursorAt, cursorOfEntry, entryNumber, selectionAfter, selectionRange, seqAt } from '../../core/cursor.ts'
import type { HistoryEntry, JobRecord } from '../../core/record.ts'
import { isEnded, jobStates, type JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import type { DueSchedules, DueSchedulesRequest, StoredSchedule } from '../../core/schedule-record.ts'
import { isForgotten, isLost } from '../../core/workers.ts'
import type {
  Counts,
  JobPage,
  ListQuery,
  QueueInfo,
  StateCounts,
  TransitionPage,
  WorkerInfo,
  WorkerRecord,
} from '../../store.ts'
import type { Command, Redis, Reply } from './connection.ts'
import type { Keys } from './keys.ts'
import { countsFrom, fieldsFrom, pairs, parsedAll, scored, texts } from './loading.ts'
import type { Need } from './needs.ts'
import { recordOf, type StoredJob } from './records.ts'
import { heavyFields, lightFields, type Field, type Fields } from './row.ts'
import { Search } from './search.ts'
import type { WorkingSet } from './working-set.ts'

const allFields: readonly Field[] = [...lightFields, ...heavyFields]

/** A worker as it is kept; workers are listed in the order in which they were made known. */
interface KnownWorker {
  readonly info: WorkerInfo
  readonly number: number
}

export class Reading {
  private readonly redis: Redis
  private readonly keys: Keys
  private readonly search: Search

  constructor(redis: Redis, keys: Keys) {
    this.redis = redis
    this.keys = keys
    this.search = new Search(redis, keys)
  }

  // ── jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async get(ids: readonly string[]): Promise<(JobRecord | null)[]> {
    const stored = await this.stored(ids, allFields)
    return stored.map((job) => (job === null ? null : recordOf(job)))
  }

  /** @param fields names of the hash; history, checkpoint and inbox are read with all of them or where they are asked for */
  private async stored(
    ids: readonly string[],
    fields: readonly Field[],
    beside: readonly string[] = ['history', 'checkpoint', 'inbox'],
  ): Promise<(StoredJob | null)[]> {
    const { keys } = this
    const commands = ids.flatMap((id): Command[] => [
      ['HMGET', keys.job(id), ...fields],
      ...(beside.includes('history') ? [['LRANGE', keys.history(id), '0', '-1']] : []),
      ...(beside.includes('checkpoint') ? [['LINDEX', keys.checkpoints(id), '-1']] : []),
      ...(beside.includes('inbox') ? [['LRANGE', keys.inbox(id), '0', '-1']] : []),
    ])
    const replies = await this.redis.pipeline(commands)
    let next = 0
    const take = (name: string): Reply | undefined => (beside.includes(name) ? replies[next++] : undefined)
    return ids.map((id) => {
      const values = fieldsFrom(fields, replies[next++])
      const history = parsedAll<HistoryEntry>(take('history'))
      const checkpoint = take('checkpoint')
      const inbox = parsedAll<InboxEntry>(take('inbox'))
      if (values.rev === undefined) return null
      const last = typeof checkpoint === 'string' ? (JSON.parse(checkpoint) as CheckpointEntry) : null
      return { id, fields: values, history, checkpoint: last, inbox }
    })
  }

  async list<Name extends keyof JobRecord>(query: ListQuery<Name>): Promise<JobPage<Pick<JobRecord, Name>>> {
    const { after, limit = caps.page, order, orderBy, fields, ...filter } = query
    const byEnd = orderBy === 'finished'
    const range = {
      byEnd,
      newestFirst: order === 'newest',
      after: after === undefined ? null : await this.numberAfter(after, byEnd),
      limit: Math.min(limit, caps.pageMax),
    }
    const { jobs, next } = await this.search.find(filter, () => true, range)
    const names = fields as readonly (keyof JobRecord)[] | undefined
    const heavy = heavyFields.filter((name) => names?.includes(name) !== false)
    const ids = jobs.map(({ id }) => id)
    const stored = await this.stored(ids, [...lightFields, ...heavy], names ?? undefined)
    const records = stored.flatMap((job) => (job === null ? [] : [recordOf<Name>(job, fields)]))
    return Object.assign(records, { next: next === null ? undefined : cursorAt(next) })
  }

  private async numberAfter(cursor: string, byEnd: boolean): Promise<number> {
    const fields = fieldsFrom(lightFields, await this.redis.send(['HMGET', this.keys.job(cursor), ...lightFields]))
    const there = fields.rev !== undefined && (!byEnd || isEnded(fields.state as JobState))
    return seqAt(cursor, () => (there ? Number(byEnd ? fields.last : fields.seq) : undefined))
  }

  /** Finds the page of a selection by filter. */
  async select({ selection, states }: Need & { readonly kind: 'selected' }, into: WorkingSet): Promise<void> {
    if (!('filter' in selection)) throw new TypeError('a selection by ids needs no search')
    const { filter, after, limit = caps.selection } = selection
    const range = selectionRange(after, Number(await this.redis.send(['GET', this.keys.seq])))
    const page = { byEnd: false, newestFirst: false, ...range, limit: Math.min(limit, caps.selection) }
    const { jobs, next } = await this.search.find(filter, (state) => states.has(state), page)
    for (const { id, fields } of jobs)
      if (!into.rows.has(id)) into.rows.set(id, { fields: light(fields), heavy: 'none' })
    into.selections.set(selection, { ids: jobs.map(({ id }) => id), next: selectionAfter(next, range) })
  }

  async checkpoints(id: string): Promise<CheckpointEntry[]> {
    return parsedAll<CheckpointEntry>(await this.redis.send(['LRANGE', this.keys.checkpoints(id), '0', '-1']))
  }

  // ── queues ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async queues(): Promise<QueueInfo[]> {
    const { byType, paused } = await this.queueCounts()
    const infos = [...byType].map(([type, counts]) => ({ type, paused: paused.get(type) === '1', counts }))
    return infos.toSorted((a, b) => (a.type < b.type ? -1 : 1))
  }

  async queue(type: string): Promise<QueueInfo> {
    const { byType, paused } = await this.queueCounts()
    return { type, paused: paused.get(type) === '1', counts: byType.get(type) ?? noCounts() }
  }

  async counts(): Promise<Counts> {
    const { all, byType } = await this.queueCounts()
    return { ...all, types: Object.fromEntries(byType) }
  }

  private async queueCounts(): Promise<{
    readonly all: StateCounts
    readonly byType: ReadonlyMap<string, StateCounts>
    readonly paused: ReadonlyMap<string, string>
  }> {
    const [counts, pauses] = await this.redis.pipeline([
      ['HGETALL', this.keys.counts],
      ['HGETALL', this.keys.paused],
    ])
    const all = noCounts()
    const paused = new Map(pairs(pauses))
    const byType = new Map([...paused.keys()].map((type) => [type, noCounts()]))
    for (const [name, count] of countsFrom(counts)) {
      const colon = name.indexOf(':')
      const state = (colon < 0 ? name : name.slice(0, colon)) as JobState
      if (colon < 0) all[state] = count
      else {
        const type = name.slice(colon + 1)
        const ofType = byType.get(type) ?? noCounts()
        ofType[state] = count
        byType.set(type, ofType)
      }
    }
    return { all, byType, paused }
  }

  // ── workers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async worker(id: string, info: WorkerInfo | null, now: number): Promise<void> {
    const { keys } = this
    const known = await this.knownWorkers()
    const gone = known.filter((each) => isForgotten(each.info, now - each.seenAt)).map((each) => each.info.id)
    const own = known.find((each) => each.info.id === id)
    if (info === null) gone.push(id)
    else {
      const number = own?.number ?? Number(await this.redis.send(['HINCRBY', keys.workers, '', '1']))
      const value: KnownWorker = { info, number }
      await this.redis.pipeline([
        ['HSET', keys.workers, id, JSON.stringify(value)],
        ['ZADD', keys.seen, String(now), id],
      ])
    }
    const leaving = gone.filter((each) => info === null || each !== id)
    if (leaving.length > 0) await this.redis.pipeline([['HDEL', keys.workers, ...leaving], ['ZREM', keys.seen, ...leaving]]) // prettier-ignore
  }

  private async knownWorkers(): Promise<(KnownWorker & { readonly seenAt: number })[]> {
    const [infos, seen] = await this.redis.pipeline([
      ['HGETALL', this.keys.workers],
      ['ZRANGE', this.keys.seen, '0', '-1', 'WITHSCORES'],
    ])
    const seenAt = new Map(scored(seen))
    const known = pairs(infos).flatMap(([id, text]) => {
      if (id === '') return []
      return [{ ...(JSON.parse(text) as KnownWorker), seenAt: seenAt.get(id) ?? 0 }]
    })
    return known.toSorted((a, b) => a.number - b.number)
  }

  /** The workers with what each holds, longest first. */
  async workers(now: number): Promise<WorkerRecord[]> {
    const leases = texts(await this.redis.send(['ZRANGE', this.keys.leases, '0', '-1']))
    const ids = leases.map((member) => member.slice(16))
    const held = (await this.stored(ids, [...lightFields, 'checkin'], [])).filter((job) => job !== null)
    const byWorker = Map.groupBy(held.toSorted(heldLonger), ({ fields }) => fields.worker)
    const known = (await this.knownWorkers()).filter(({ info, seenAt }) => !isForgotten(info, now - seenAt))
    return known.map(({ info, seenAt }) => {
      const running = (byWorker.get(info.id) ?? []).map(runningJob)
      return { ...info, seenAt, lost: isLost(info, now - seenAt), running }
    })
  }

  // ── schedules ───────────────────────────────────────────────────────────────────────────────────────────────────────

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

  // ── the log ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Entries have the numbers of their transitions, without a gap. */
  async transitions(cursor: string | null, limit: number): Promise<TransitionPage> {
    const from = entryNumber(cursor)
    const [first, page] = await this.redis.pipeline([
      ['XRANGE', this.keys.log, '-', '+', 'COUNT', '1'],
      ['XRANGE', this.keys.log, `${from + 1}-0`, '+', 'COUNT', String(limit)],
    ])
    const transitions = entries(page).map(([seq, fields]) => {
      const { i: id = '', t: type = '', e: text = '{}' } = Object.fromEntries(fields) as Record<string, string>
      const entry = { ...(JSON.parse(text) as HistoryEntry), seq }
      return { id, type, ...entry, cursor: cursorOfEntry(seq) }
    })
    const oldest = entries(first)[0]?.[0] ?? 1
    return { transitions, next: transitions.at(-1)?.cursor ?? cursor, lost: oldest > from + 1 }
  }
}

const entries = (reply: Reply | undefined): [seq: number, fields: [string, string][]][] =>
  (Array.isArray(reply) ? (reply as readonly Reply[]) : []).map((entry) => {
    const [id, fields] = entry as readonly Reply[]
    return [Number.parseInt(String(id), 10), pairs(fields)]
  })

const tickAt = ({ paused, nextAt }: StoredSchedule): number => (paused || nextAt === null ? Infinity : nextAt)

const earlier = (a: StoredSchedule, b: StoredSchedule): number => tickAt(a) - tickAt(b) || (a.name < b.name ? -1 : 1)

const noCounts = (): Record<JobState, number> =>
  Object.fromEntries(jobStates.map((state) => [state, 0])) as Record<JobState, number>

/** Without what only a filter has asked for. */
function light(fields: Fields): Fields {
  const { ...rest } = fields
  delete rest.meta
  return rest
}

const heldLonger = (a: StoredJob, b: StoredJob): number =>
  Number(a.fields.startedAt) - Number(b.fields.startedAt) || Number(a.fields.seq) - Number(b.fields.seq)

const runningJob = (job: StoredJob): WorkerRecord['running'][number] => {
  const { id, type, attempt, startedAt, checkin } = recordOf(job, ['id', 'type', 'attempt', 'startedAt', 'checkin'])
  return { id, type, attempt, since: startedAt ?? 0, checkin }
}
