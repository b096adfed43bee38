/**
 * Follows one job: its record, then its events, then its end, whichever process runs it. What this process does arrives
 * as events; what others do is read from the record and its history.
 */
import { isEnded, isLeased, type JobState } from '../core/lifecycle.ts'
import type { HistoryEntry, AnyJobEvent, CheckIn, JobRecord } from '../core/record.ts'
import type { EventHub } from './event-hub.ts'
import type { RecordWatch } from './record-watch.ts'
import type { Results } from './results.ts'

interface JobFollower {
  /** Called first, once. null: the job does not exist; only `end` follows. */
  readonly record: (record: JobRecord | null) => void
  /**
   * Called for each later event, in order, without repetition. Of check-ins by other processes in quick succession the
   * last one is delivered; their log lines, emitted events and checkpoints are not.
   */
  readonly event: (event: AnyJobEvent) => void
  /** Called last, once. */
  readonly end: () => void
  readonly failed: (error: unknown) => void
}

interface FollowJobOptions {
  readonly hub: EventHub
  readonly results: Results
  readonly watch: RecordWatch
  readonly get: (id: string) => Promise<JobRecord | null>
}

/** Follows until the job ends or the returned function is called. */
export function followJob(
  { hub, results, watch, get }: FollowJobOptions,
  id: string,
  follower: JobFollower,
): () => void {
  let stopped = false
  const events = new EventOrder(watch.hasOtherWriters, (event) => {
    if (!stopped) follower.event(event)
  })
  /** Events that arrive before the record; null afterwards. */
  let early: AnyJobEvent[] | null = []
  const offEvents = hub.onJob(id, (event) => (early === null ? events.own(event) : early.push(event)))
  let offEnd = (): void => {}
  let offRecords = (): void => {}
  const stop = (): void => {
    stopped = true
    offEvents()
    offEnd()
    offRecords()
  }
  const end = (): void => {
    stop()
    follower.end()
  }
  get(id).then(
    (record) => {
      if (stopped) return
      follower.record(record)
      if (record === null) return end()
      const caught = early ?? []
      early = null
      events.begin(record, caught)
      const onEnded = (ended: JobRecord | null): void => {
        if (stopped) return
        if (ended !== null) events.readLast(ended)
        end()
      }
      offEnd = results.whenEnded(id, onEnded, end)
      // A read that fails is repeated by the next poll.
      if (watch.hasOtherWriters && !isEnded(record.state)) {
        offRecords = watch.watch(id, { record: (news) => events.read(news), failed: () => {} })
      }
    },
    (error: unknown) => {
      stop()
      follower.failed(error)
    },
  )
  return stop
}

/** Puts what this process does with a job and what is read of it in one order, each event once. */
class EventOrder {
  private lastSeq = -1
  /** The last seq of a transition between attempts: a report may follow checkpoints and the cancel of its attempt. */
  private lastTransition = -1
  /** After the last transition, also if it is held. */
  private state: JobState | null = null
  /** When the last check-in was made that was read from the record. */
  private lastCheckinAt: number | null = null
  /** The CLAIM of the last attempt that this process has run, and whether it goes on: it tells its events itself. */
  private ownClaim = -1
  private runsHere = false
  /** Events of this process before which there may be some of others: they wait for a record with the first of them. */
  private held: AnyJobEvent[] = []
  private readonly hasOtherWriters: boolean
  private readonly deliver: (event: AnyJobEvent) => void

  constructor(hasOtherWriters: boolean, deliver: (event: AnyJobEvent) => void) {
    this.hasOtherWriters = hasOtherWriters
    this.deliver = deliver
  }

  /** @param caught events of this process that came before the record was read */
  begin({ history, checkin, state }: JobRecord, caught: readonly AnyJobEvent[]): void {
    this.lastSeq = history.at(-1)?.seq ?? 0
    this.lastTransition = history.findLast((entry) => !isWithinAttempt(entry))?.seq ?? 0
    this.state = state
    this.lastCheckinAt = checkin?.at ?? null
    const readAt = this.lastCheckinAt ?? -Infinity
    for (const event of caught) if (event.event !== 'CHECKIN' || event.at > readAt) this.own(event)
  }

  /** An event of this process. */
  own(event: AnyJobEvent): void {
    const follows = event.from === this.state && (this.runsHere || isReport(event))
    if (!isReport(event)) this.state = event.to
    if (event.event === 'CLAIM' || isReport(event)) {
      this.ownClaim = event.seq
      this.runsHere = true
    } else if (!isLeased(event.to)) this.runsHere = false
    if (this.hasOtherWriters && (!follows || this.held.length > 0)) this.held.push(event)
    else this.take(event)
  }

  /** A later record. The end of a job comes by `readLast`. */
  read(record: JobRecord | null): void {
    if (record === null || isEnded(record.state)) return
    this.takeHeld(record)
    const isElsewhere = record.history.some(({ event, seq }) => event === 'CLAIM' && seq > this.ownClaim)
    if (!this.runsHere || isElsewhere) this.readLast(record)
    // Either the event of this process follows at once, or another one has ended the run: then the next read tells.
    else if (!isLeased(record.state)) this.runsHere = false
    // Another process may have cancelled it.
    else this.takeFrom(record, ({ seq }) => seq > this.ownClaim)
  }

  private takeHeld(record: JobRecord): void {
    const [first] = this.held
    if (first === undefined || (record.history.at(-1)?.seq ?? 0) < first.seq) return
    for (const event of this.held.splice(0)) {
      const isCancelled = isReport(event) && event.from === 'cancelling'
      this.takeFrom(record, ({ seq, to }) => seq < event.seq || (isCancelled && to === 'cancelling'))
      this.take(event)
    }
  }

  private takeFrom(record: JobRecord, wanted: (entry: HistoryEntry) => boolean): void {
    for (const entry of record.history) if (wanted(entry)) this.take(asEvent(record, entry))
  }

  readLast(record: JobRecord): void {
    this.takeHeld(record)
    const { history, checkin } = record
    const claim = history.findLast(({ event }) => event === 'CLAIM')
    for (const entry of history) {
      this.take(asEvent(record, entry))
      if (entry !== claim || entry.seq === this.ownClaim || checkin === null) continue
      if (checkin.at === this.lastCheckinAt) continue
      this.lastCheckinAt = checkin.at
      this.take(checkInOf(record, entry, checkin))
    }
  }

  private take(event: AnyJobEvent): void {
    // An event of a run carries the seq of the run's claim; every transition has its own seq.
    if (isReport(event) ? event.seq < this.lastTransition : event.seq <= this.lastSeq) return
    this.lastSeq = Math.max(this.lastSeq, event.seq)
    if (!isWithinAttempt(event)) this.lastTransition = Math.max(this.lastTransition, event.seq)
    // What is held comes after it.
    if (!isReport(event) && this.held.length === 0) this.state = event.to
    this.deliver(event)
  }
}

/** Does it leave the job in its lease? */
const isWithinAttempt = ({ from, to }: Pick<AnyJobEvent, 'from' | 'to'>): boolean =>
  from !== null && isLeased(from) && isLeased(to)

/** Is an event one of a run, and no transition? */
const isReport = ({ event }: AnyJobEvent): boolean => event === 'CHECKIN' || event === 'LOG' || event === 'EMIT'

function checkInOf({ id, type }: JobRecord, { seq, attempt }: HistoryEntry, { at, value }: CheckIn): AnyJobEvent {
  return { seq, at, id, type, event: 'CHECKIN', from: 'running', to: 'running', attempt, value }
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
