/** One job, followed: as it is, then every move, then its end; whichever process moves it. */
import type { HistoryEntry, JobEvent, JobRecord } from '../core/record.ts'
import type { EventHub } from './event-hub.ts'
import type { Results } from './results.ts'

export interface JobFollower {
  /** First, once. null: there is no such job, and nothing follows. */
  readonly record: (record: JobRecord | null) => void
  /** Then what happens, in order, none twice. Moves of other processes are told when the job has ended. */
  readonly event: (event: JobEvent) => void
  /** Last, once. */
  readonly end: () => void
  readonly failed: (error: unknown) => void
}

export interface FollowJobOptions {
  readonly hub: EventHub
  readonly results: Results
  readonly get: (id: string) => Promise<JobRecord | null>
}

/** Follows until the job ends or the returned function is called. */
export function followJob({ hub, results, get }: FollowJobOptions, id: string, follower: JobFollower): () => void {
  let lastSeq = -1
  /** Of moves alone: a sign of life may come after checkpoints of its attempt. */
  let lastMove = -1
  let early: JobEvent[] | null = []
  let over = false
  const take = (event: JobEvent): void => {
    // A sign of life carries the seq of its claim; a move has one of its own.
    const sign = event.event === 'CHECKIN' || event.event === 'LOG' || event.event === 'EMIT'
    if (over || (sign ? event.seq < lastMove : event.seq <= lastSeq)) return
    lastSeq = Math.max(lastSeq, event.seq)
    if (event.event !== 'CHECKPOINT') lastMove = Math.max(lastMove, event.seq)
    follower.event(event)
  }
  const offEvents = hub.onJob(id, (event) => (early === null ? take(event) : early.push(event)))
  let offEnd = (): void => {}
  const stop = (): void => {
    over = true
    offEvents()
    offEnd()
  }
  get(id).then(
    (record) => {
      if (over) return
      follower.record(record)
      if (record === null) {
        stop()
        follower.end()
        return
      }
      lastMove = lastSeq = record.history.at(-1)?.seq ?? 0
      const caught = early ?? []
      early = null
      const seen = record.checkin?.at ?? -Infinity
      for (const event of caught) if (event.event !== 'CHECKIN' || event.at > seen) take(event)
      const end = (): void => {
        stop()
        follower.end()
      }
      const told = (ended: JobRecord | null): void => {
        if (over) return
        if (ended !== null) for (const entry of ended.history) take(asEvent(ended, entry))
        end()
      }
      offEnd = results.whenEnded(id, told, end)
    },
    (error: unknown) => {
      stop()
      follower.failed(error)
    },
  )
  return stop
}

/** The last check-in of a running job, as the event it was. */
export function lastCheckIn({ id, type, state, attempt, checkin, history }: JobRecord): JobEvent | null {
  if (checkin === null || state !== 'running') return null
  const { at, value } = checkin
  return { seq: history.at(-1)?.seq ?? 0, at, id, type, event: 'CHECKIN', from: state, to: state, attempt, value }
}

/** An entry of a job's history as the event it was, with what the record still knows: its output, and its errors. */
export function asEvent({ id, type, output, errors }: JobRecord, entry: HistoryEntry): JobEvent {
  const { event, to, at, attempt } = entry
  // A job that is done stays done: its output is that of its last COMPLETE.
  if (event === 'COMPLETE' && to === 'done' && output !== undefined) return { id, type, ...entry, value: output }
  const failed = event === 'FAIL' || event === 'EXPIRE'
  const failure = failed ? errors.findLast((each) => each.failedAt === at && each.attempt === attempt) : undefined
  return failure === undefined ? { id, type, ...entry } : { id, type, ...entry, error: failure.error }
}
