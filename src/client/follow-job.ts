/** Follows one job: its record, then its events, then its end, whichever process runs it. */
import type { HistoryEntry, AnyJobEvent, JobRecord } from '../core/record.ts'
import type { EventHub } from './event-hub.ts'
import type { Results } from './results.ts'

interface JobFollower {
  /** Called first, once. null: the job does not exist; only `end` follows. */
  readonly record: (record: JobRecord | null) => void
  /** Called for each later event, in order, without repetition. Transitions by other processes are delivered when the job has ended. */
  readonly event: (event: AnyJobEvent) => void
  /** Called last, once. */
  readonly end: () => void
  readonly failed: (error: unknown) => void
}

interface FollowJobOptions {
  readonly hub: EventHub
  readonly results: Results
  readonly get: (id: string) => Promise<JobRecord | null>
}

/** Follows until the job ends or the returned function is called. */
export function followJob({ hub, results, get }: FollowJobOptions, id: string, follower: JobFollower): () => void {
  let lastSeq = -1
  /** The last seq of a transition that is no checkpoint: an event of a run may follow checkpoints of its attempt. */
  let lastTransition = -1
  /** Events that arrive before the record; null afterwards. */
  let early: AnyJobEvent[] | null = []
  let stopped = false
  const take = (event: AnyJobEvent): void => {
    // An event of a run carries the seq of the run's claim; every transition has its own seq.
    const ofRun = event.event === 'CHECKIN' || event.event === 'LOG' || event.event === 'EMIT'
    if (stopped || (ofRun ? event.seq < lastTransition : event.seq <= lastSeq)) return
    lastSeq = Math.max(lastSeq, event.seq)
    if (event.event !== 'CHECKPOINT') lastTransition = Math.max(lastTransition, event.seq)
    follower.event(event)
  }
  const offEvents = hub.onJob(id, (event) => (early === null ? take(event) : early.push(event)))
  let offEnd = (): void => {}
  const stop = (): void => {
    stopped = true
    offEvents()
    offEnd()
  }
  get(id).then(
    (record) => {
      if (stopped) return
      follower.record(record)
      if (record === null) {
        stop()
        follower.end()
        return
      }
      lastTransition = lastSeq = record.history.at(-1)?.seq ?? 0
      const caught = early ?? []
      early = null
      const lastCheckinAt = record.checkin?.at ?? -Infinity
      for (const event of caught) if (event.event !== 'CHECKIN' || event.at > lastCheckinAt) take(event)
      const end = (): void => {
        stop()
        follower.end()
      }
      const onEnded = (ended: JobRecord | null): void => {
        if (stopped) return
        if (ended !== null) for (const entry of ended.history) take(asEvent(ended, entry))
        end()
      }
      offEnd = results.whenEnded(id, onEnded, end)
    },
    (error: unknown) => {
      stop()
      follower.failed(error)
    },
  )
  return stop
}

/** The last check-in of a running job as an event. */
export function lastCheckIn({ id, type, state, attempt, checkin, history }: JobRecord): AnyJobEvent | null {
  if (checkin === null || state !== 'running') return null
  const { at, value } = checkin
  return { seq: history.at(-1)?.seq ?? 0, at, id, type, event: 'CHECKIN', from: state, to: state, attempt, value }
}

/** An entry of a job's history as an event, with the output or error that the record holds for it. */
export function asEvent({ id, type, output, errors }: JobRecord, entry: HistoryEntry): AnyJobEvent {
  const { event, to, at, attempt } = entry
  // A job leaves `done` never: its output belongs to its only COMPLETE into it.
  if (event === 'COMPLETE' && to === 'done' && output !== undefined) return { id, type, ...entry, value: output }
  const failed = event === 'FAIL' || event === 'EXPIRE'
  const failure = failed ? errors.findLast((each) => each.failedAt === at && each.attempt === attempt) : undefined
  return failure === undefined ? { id, type, ...entry } : { id, type, ...entry, error: failure.error }
}
