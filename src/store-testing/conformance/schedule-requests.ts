/**
 * Turns the commands of a random sequence into requests: the times and revisions that they stand on are the model's.
 */
import type { FireSchedule, NewJob, PauseSchedule, PutSchedule, StoredSchedule } from '../../store.ts'
import type { NaiveSchedules } from '../naive-schedules.ts'
import { newJob } from './acts.ts'
import { tickMs, type ScheduleCommand } from './commands.ts'

type Of<Op extends ScheduleCommand['op']> = ScheduleCommand & { readonly op: Op }

export class ScheduleRequests {
  private readonly model: NaiveSchedules
  private readonly start: number

  constructor(model: NaiveSchedules, start: number) {
    this.model = model
    this.start = start
  }

  put({ name, type, overlap, daily, computed, paused, next }: Of<'putSchedule'>): PutSchedule {
    const { id: _id, runAt: _runAt, delayMs: _delayMs, ...plain } = newJob(name, { type, input: { of: name } })
    const job = { ...plain, key: overlap === 'allow' ? null : `schedule:${name}` }
    const spec = daily ? '@daily' : '@hourly'
    const times = { name, spec, timezone: 'UTC', catchUp: 'last', jitterMs: 0 } as const
    return { terms: { ...times, overlap, job, computed, owner: null }, paused, nextAt: this.at(next) }
  }

  fire({ name, stale, byHand, ids, next }: Of<'fireSchedule'>): FireSchedule {
    const there = this.of(name)
    const made = there?.job ?? newJob('none')
    const ticks = ids.map((id, i) => {
      const job: NewJob = { ...made, id, runAt: null, delayMs: i * tickMs }
      return { at: this.start + i * tickMs, job }
    })
    const revision = (there?.revision ?? 1) - (stale ? 1 : 0)
    return { name, ticks, advance: byHand ? null : { revision, nextAt: this.at(next), missed: ids.length } }
  }

  pause({ name, stale, paused, next }: Of<'pauseSchedule'>): PauseSchedule {
    return { name, revision: (this.of(name)?.revision ?? 1) - (stale ? 1 : 0), paused, nextAt: this.at(next) }
  }

  private of(name: string): StoredSchedule | undefined {
    return this.model.listSchedules([name])[0]
  }

  private at(next: number | null): number | null {
    return next === null ? null : this.start + next * tickMs
  }
}
