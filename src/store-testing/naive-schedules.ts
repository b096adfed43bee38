/** The schedules of the naive store: an array that every call searches. */
import { isDeepStrictEqual } from 'node:util'
import type * as contract from '../store.ts'
import { is, type Job } from './naive-jobs.ts'
import { NaiveStore } from './naive-store.ts'

export class NaiveSchedules extends NaiveStore {
  private schedules: contract.StoredSchedule[] = []

  putSchedules(requests: readonly contract.PutSchedule[]): contract.PutScheduleAnswer[] {
    return requests.map(({ terms, paused, nextAt }) => {
      const there = this.scheduleOf(terms.name)
      if (there === undefined) {
        const figures = { last: null, recent: [], fired: 0, missed: 0, skipped: 0 }
        const made = { ...terms, paused, revision: 1, createdAt: this.time, nextAt, ...figures }
        return { outcome: 'created', schedule: this.save(made) }
      }
      const fromFuture = there.last !== null && there.last.at > this.time + 3_600_000
      const hasNewTicks = there.spec !== terms.spec || there.timezone !== terms.timezone || fromFuture
      if (!hasNewTicks && isDeepStrictEqual({ ...there, ...terms }, there))
        return { outcome: 'unchanged', schedule: there }
      const recent = there.job.type === terms.job.type ? there.recent : []
      const changed = { ...there, ...terms, recent, revision: there.revision + 1 }
      return { outcome: 'changed', schedule: this.save(hasNewTicks ? { ...changed, nextAt } : changed) }
    })
  }

  listSchedules(names?: readonly string[]): contract.StoredSchedule[] {
    if (names !== undefined) return [...new Set(names)].flatMap((name) => this.scheduleOf(name) ?? [])
    return this.schedules.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  pauseSchedule({ name, revision, paused, nextAt }: contract.PauseSchedule): contract.StoredSchedule | null {
    const there = this.scheduleOf(name)
    if (there?.revision !== revision) return null
    if (there.paused === paused) return there
    return this.save({ ...there, paused, revision: revision + 1, nextAt: paused ? there.nextAt : nextAt })
  }

  removeSchedules(names: readonly string[]): string[] {
    return names.filter((name) => {
      const before = this.schedules.length
      this.schedules = this.schedules.filter((each) => each.name !== name)
      return this.schedules.length < before
    })
  }

  dueSchedules({ computed, limit }: contract.DueSchedulesRequest): contract.DueSchedules {
    const own = this.schedules.filter((each) => !each.paused && (!each.computed || computed.includes(each.name)))
    const inOrder = own
      .flatMap((each) => (each.nextAt === null ? [] : [{ at: each.nextAt, each }]))
      .toSorted((a, b) => a.at - b.at || (a.each.name < b.each.name ? -1 : 1))
    const due = inOrder.filter(({ at }) => at <= this.time).slice(0, limit)
    return { schedules: due.map(({ each }) => each), nextAt: inOrder[0]?.at ?? null, more: due.length === limit }
  }

  fireSchedules(requests: readonly contract.FireSchedule[]): contract.FireScheduleAnswer[] {
    return requests.map(({ name, ticks, advance }) => {
      const there = this.scheduleOf(name)
      if (there === undefined) return { outcome: 'gone', ticks: [], transitions: [] }
      const isStale = advance !== null && (there.paused || there.revision !== advance.revision)
      if (isStale) return { outcome: 'stale', ticks: [], transitions: [] }
      const transitions: contract.WrittenTransition[] = []
      const answers = ticks.map((tick) => this.tick(name, tick, transitions))
      const fired = this.scheduleOf(name) ?? there
      const moved = advance === null ? {} : { nextAt: advance.nextAt, missed: fired.missed + advance.missed }
      this.save({ ...fired, ...moved, revision: fired.revision + 1 })
      return { outcome: 'fired', ticks: answers, transitions }
    })
  }

  private tick(
    name: string,
    { at, job }: contract.ScheduleTick,
    transitions: contract.WrittenTransition[],
  ): contract.TickAnswer {
    const schedule = this.scheduleOf(name)
    if (schedule === undefined) throw new Error(`schedule ${name} is there`)
    const { overlap } = schedule
    const live = overlap === 'allow' ? [] : this.earlier(schedule, job)
    const [first] = live
    const leftOut =
      first !== undefined &&
      this.find(job.id) === undefined &&
      (overlap === 'skip' || (overlap === 'queue-one' && live.length === 2))
    if (leftOut) {
      this.save({ ...schedule, skipped: schedule.skipped + 1 })
      return { outcome: 'skipped', id: first.record.id }
    }
    if (this.find(job.id) === undefined) {
      for (const each of live) {
        const transition = overlap === 'supersede' ? this.supersede(each) : undefined
        if (transition !== undefined) transitions.push(transition)
        each.holdsKey = false
      }
    }
    const answer = this.insertOne(job)
    if (answer.outcome === 'id-taken')
      return { outcome: 'id-taken', id: job.id, state: 'queued', seq: 0, at: 0, dueAt: null }
    if (answer.outcome !== 'inserted') return answer
    const recent = overlap === 'allow' ? [] : [...live.map(({ record }) => record.id), job.id].slice(-2)
    this.save({ ...schedule, fired: schedule.fired + 1, last: { at, jobId: job.id }, recent })
    return answer
  }

  /** Live jobs of earlier ticks, and the holder of the schedule's key. */
  private earlier({ recent }: contract.StoredSchedule, { type, key }: contract.NewJob): Job[] {
    const jobs = [...recent.map((id) => this.find(id)), key === null ? undefined : this.holder(type, key)]
    return [...new Set(jobs)].flatMap((job) => (job !== undefined && is('live', job) ? [job] : []))
  }

  private scheduleOf(name: string): contract.StoredSchedule | undefined {
    return this.schedules.find((each) => each.name === name)
  }

  private save(schedule: contract.StoredSchedule): contract.StoredSchedule {
    this.schedules = [...this.schedules.filter(({ name }) => name !== schedule.name), structuredClone(schedule)]
    return schedule
  }
}
