/** The handle of a schedule. */
import type { JobHandle } from '../core/handle.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import {
  removeOptions,
  runCount,
  type RemoveScheduleOptions,
  type ScheduleHandle,
  type ScheduleRecord,
} from '../core/schedule-options.ts'
import type { InsertAnswer, NewJob } from '../store.ts'
import type { Schedules } from './schedules.ts'

export class ClientScheduleHandle<Output, Machine extends MachineTypes> implements ScheduleHandle<Output, Machine> {
  readonly name: string
  private readonly schedules: Schedules
  /** The handle of a job that was made, or, without an answer, that is there. */
  private readonly handleOf: (
    job: NewJob,
    answer: InsertAnswer | null,
    id: string,
  ) => Promise<JobHandle<Output, Machine>>

  constructor(name: string, schedules: Schedules, handleOf: ClientScheduleHandle<Output, Machine>['handleOf']) {
    this.name = name
    this.schedules = schedules
    this.handleOf = handleOf
  }

  pause(): Promise<void> {
    return this.schedules.setPaused(this.name, true)
  }

  resume(): Promise<void> {
    return this.schedules.setPaused(this.name, false)
  }

  async trigger(): Promise<JobHandle<Output, Machine>> {
    const { job, answer, id } = await this.schedules.trigger(this.name)
    return this.handleOf(job, answer, id)
  }

  async nextRuns(count: number): Promise<Date[]> {
    runCount(count, 'number of runs')
    const schedule = await this.schedules.stored(this.name)
    return this.schedules.nextRuns(schedule, count).map((at) => new Date(at))
  }

  async record(): Promise<ScheduleRecord> {
    return this.schedules.record(await this.schedules.stored(this.name), 1)
  }

  async remove(options: RemoveScheduleOptions = {}): Promise<boolean> {
    return this.schedules.remove(this.name, removeOptions(options, 'options of remove'))
  }
}
