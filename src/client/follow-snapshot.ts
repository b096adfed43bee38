/** The snapshots of one job as a stream: what the store has, so that every process sees the same. */
import type { JobSnapshot } from '../core/handle.ts'
import { isEnded } from '../core/lifecycle.ts'
import type { Logger } from '../core/logger.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import type { JobRecord } from '../core/record.ts'
import type { Stream } from '../core/stream.ts'
import type { MachineCalls } from './machine-calls.ts'
import { notFound } from './not-found.ts'
import type { RecordWatch } from './record-watch.ts'
import type { Results } from './results.ts'
import { GuardedStream } from './stream.ts'

interface FollowSnapshotOptions {
  readonly watch: RecordWatch
  readonly results: Results
  readonly machines: MachineCalls
  readonly logger: Logger
}

/** A reader by `for await` that is slow gets the newest snapshot. */
const newestOnly = { buffer: 1, overflow: 'drop-oldest' } as const

export function followSnapshot<Machine extends MachineTypes>(
  { watch, results, machines, logger }: FollowSnapshotOptions,
  id: string,
): Stream<JobSnapshot<Machine>> {
  return new GuardedStream(
    logger,
    (subscriber) => {
      let last: string | null = null
      let lastMark: string | null = null
      const take = (record: JobRecord | null): void => {
        // A job that was seen and is gone was removed after its end.
        if (record === null) return last === null ? subscriber.error(notFound(id)) : subscriber.complete()
        // Most reads find nothing new, and the state of a machine is costly to restore.
        const mark = markOf(record)
        if (mark === lastMark) return
        lastMark = mark
        try {
          const snapshot = snapshotOf<Machine>(machines, record)
          const text = JSON.stringify(snapshot)
          if (text !== last) {
            last = text
            subscriber.next(snapshot)
          }
        } catch (error) {
          return subscriber.error(error)
        }
        if (isEnded(record.state)) subscriber.complete()
      }
      const failed = (error: unknown): void => {
        // The next poll reads the job again.
        if (last === null) subscriber.error(error)
      }
      subscriber.add(watch.watch(id, { record: take, failed }))
      // Reads the job a last time when the client is closed.
      subscriber.add(results.whenEnded(id, take, () => subscriber.complete()))
    },
    newestOnly,
  )
}

/** Changes with everything of a job that is shown. */
const markOf = ({ state, generation, history, checkpoint, machineTags, checkin }: JobRecord): string =>
  JSON.stringify([state, generation, history.at(-1)?.seq, checkpoint?.number, machineTags, checkin])

function snapshotOf<Machine extends MachineTypes>(machines: MachineCalls, record: JobRecord): JobSnapshot<Machine> {
  const { id, type, state, checkin, checkpoint, machineTags } = record
  if (checkpoint === null) return { id, type, state, value: undefined, context: undefined, tags: [], checkin }
  const { value, context, tags } = machines.shown<Machine>(record, checkpoint.state, machineTags)
  return { id, type, state, value, context, tags, checkin }
}
