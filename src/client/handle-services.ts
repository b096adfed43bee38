/** Implements the services of job handles: calls to the client that made the handle, and streams over one job. */
import type { JobDefinition } from '../core/definition.ts'
import type { HandleServices } from './handle.ts'
import { jobEvent, type JobEvent, type JobRecord } from '../core/record.ts'
import type { JobState } from '../core/lifecycle.ts'
import type { Logger } from '../core/logger.ts'
import type { EventHub } from './event-hub.ts'
import { asEvent, followJob, lastCheckIn } from './follow-job.ts'
import type { MachineCalls } from './machine-calls.ts'
import { followSnapshot } from './follow-snapshot.ts'
import { notFound } from './not-found.ts'
import type { RecordWatch } from './record-watch.ts'
import type { Results } from './results.ts'
import { GuardedStream } from './stream.ts'
import type { Timers } from './timers.ts'
import type { Waits } from './waits.ts'

/** What only the client or runtime itself can do: a runtime cancels through its dispatcher. */
export type HandleOwner = Pick<HandleServices, 'cancel'>

export interface HandleServicesOptions {
  readonly owner: HandleOwner
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly fork: HandleServices['fork']
  readonly retry: HandleServices['retry']
  readonly results: Results
  readonly machines: MachineCalls
  readonly watch: RecordWatch
  readonly waits: Waits
  readonly timers: Timers
  readonly hub: EventHub
  readonly logger: Logger
  readonly get: (id: string) => Promise<JobRecord | null>
  readonly record: (id: string) => Promise<JobRecord>
}

export function handleServices(options: HandleServicesOptions): HandleServices {
  const { owner, jobs, results, waits, timers, hub, logger, machines, watch, get, record } = options
  const followed = { hub, results, watch, get }
  return {
    whenEnded: (id, ended, closed, done, soon) => results.whenEnded(id, ended, closed, done, soon),
    waits: (id) => waits.begin(id),
    after: (delayMs, run) => timers.after(delayMs, run),
    record,
    cancel: (id, options) => owner.cancel(id, options),
    retry: options.retry,
    fork: options.fork,
    send: (id, type, event, options) => machines.sendOrJoin(id, event, options, jobs.get(type)),
    can: (id, event) => machines.can(id, event),
    view: (id) => machines.view(id),
    viewAt: (id, seq) => machines.viewAt(id, seq),
    checkpoints: (id) => machines.checkpoints(id),
    waitFor: (...wait) => machines.waitFor(...wait),
    snapshot$: (id) => followSnapshot({ watch, results, machines, logger }, id),
    state$: (id) =>
      new GuardedStream<JobState>(logger, (subscriber) =>
        followJob(followed, id, {
          record: (record) => (record === null ? subscriber.error(notFound(id)) : subscriber.next(record.state)),
          event: ({ from, to }) => {
            if (from !== to) subscriber.next(to)
          },
          end: () => subscriber.complete(),
          failed: (error) => subscriber.error(error),
        }),
      ),
    events$: (id) =>
      new GuardedStream<JobEvent>(logger, (subscriber) =>
        followJob(followed, id, {
          record: (record) => {
            if (record === null) return subscriber.error(notFound(id))
            const last = record.history.at(-1)
            if (last !== undefined) subscriber.next(jobEvent(asEvent(record, last)))
            const checkin = lastCheckIn(record)
            if (checkin !== null) subscriber.next(jobEvent(checkin))
          },
          event: (event) => subscriber.next(jobEvent(event)),
          end: () => subscriber.complete(),
          failed: (error) => subscriber.error(error),
        }),
      ),
    eventsSince: (id, seq, listener) =>
      followJob(followed, id, {
        record: (record) => {
          if (record === null) return
          for (const entry of record.history) if (entry.seq > seq) listener(asEvent(record, entry))
        },
        event: listener,
        end: () => {},
        failed: (error) => logger.warn('could not follow a job', { error, id }),
      }),
  }
}
