/**
 * The live stream: transitions as server-sent events, four messages a second at most, and changes of a watched job,
 * ten. Each reader has a cursor in the transition log, so that a reader that reconnects continues where it stopped. A
 * reader that does not read gets no more messages, and is disconnected after a minute.
 */
import { systemClock } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import type { DashboardSettings, Role } from './options.ts'
import type { Feed } from './feed.ts'
import { headersOf, problem, storeMessage } from './answers.ts'
import { JobWatches } from './job-watches.ts'
import { encoder, Messages, messageText } from './live-messages.ts'

const connectionsMax = 500
/** A reader that is further behind than this gets a reset, and reloads. */
const behindMax = 5_000
const heartbeatMs = 15_000
const unreadMsMax = 60_000
/** A reader comes back after this, and is admitted anew, or not any more. */
const streamMsMax = 30 * 60_000

interface LiveRequest {
  /** The id of the last message received; null: from now on. */
  readonly from: string | null
  /** A job whose check-ins and logs are sent as well. */
  readonly job: string | null
  readonly role: Role
  /** Who reads: places are shared among users. */
  readonly user: string
  /**
   * Its signal aborts when the reader leaves. The request itself is held, because in Node a request that is not loses
   * its signal.
   */
  readonly http: Request
}

export class Live {
  private readonly readers = new Set<Reader>()
  private readonly settings: DashboardSettings
  private readonly feed: Feed
  private readonly messages: Messages
  private readonly jobs: JobWatches

  constructor(settings: DashboardSettings, feed: Feed) {
    this.settings = settings
    this.feed = feed
    this.messages = new Messages(feed)
    this.jobs = new JobWatches(settings.client.store)
  }

  /** The response that streams to one reader. */
  open(request: LiveRequest): Response {
    const headers = headersOf('text/event-stream; charset=utf-8', { 'x-accel-buffering': 'no' })
    // Nobody would read or end the stream of a HEAD.
    if (request.http.method === 'HEAD') return new Response(null, { headers })
    if (this.readers.size >= connectionsMax && !this.makeRoom(request.user)) {
      return problem(503, 'TOO_MANY_READERS', `${connectionsMax} readers are connected.`, {
        headers: { 'retry-after': '10' },
      })
    }
    const reader = new Reader(this.settings, this.feed, this.messages, this.jobs, request, () =>
      this.readers.delete(reader),
    )
    this.readers.add(reader)
    return new Response(reader.stream, { headers })
  }

  /** Ends the first stream of the user with most, for one who has fewer; false: nobody has. */
  private makeRoom(user: string): boolean {
    const byUser = Map.groupBy(this.readers, (reader) => reader.user)
    const most = [...byUser.values()].reduce((a, b) => (b.length > a.length ? b : a))
    // With as many the two would end each other's streams in turn.
    if (most.length <= (byUser.get(user)?.length ?? 0) + 1) return false
    most[0]?.close()
    return true
  }

  /** Ends every stream. */
  close(): void {
    for (const reader of this.readers) reader.close()
  }
}

class Reader {
  readonly stream: ReadableStream<Uint8Array>
  readonly user: string
  private readonly settings: DashboardSettings
  private readonly feed: Feed
  private readonly messages: Messages
  private readonly jobs: JobWatches
  private readonly request: LiveRequest
  private readonly onEnd: () => void
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null
  /** The place of the next entry in the feed; null until the log was read. */
  private place: number | null = null
  /** The number of the counts that were sent last. */
  private countsNumber = 0
  private hasJobChanged = false
  private readonly openedAt = systemClock.monotonic()
  private lastSentAt = systemClock.monotonic()
  private lastReadAt = systemClock.monotonic()
  private isTicking = false
  private storeFails = false
  private readonly cleanups: (() => void)[] = []
  /** What is sent together: a piece of a stream costs more than what is in it. */
  private out: Uint8Array[] = []

  constructor(
    settings: DashboardSettings,
    feed: Feed,
    messages: Messages,
    jobs: JobWatches,
    request: LiveRequest,
    onEnd: () => void,
  ) {
    this.settings = settings
    this.feed = feed
    this.messages = messages
    this.jobs = jobs
    this.request = request
    this.user = request.user
    this.onEnd = onEnd
    this.stream = new ReadableStream<Uint8Array>(
      { start: (controller) => this.start(controller), cancel: () => this.end() },
      // Bytes that the reader has not read; above this, messages are combined.
      { highWaterMark: 65_536, size: (chunk) => chunk?.byteLength ?? 0 },
    )
  }

  close(): void {
    if (this.controller === null) return
    const { controller } = this
    this.end()
    controller.close()
  }

  private start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.controller = controller
    const { job, http } = this.request
    const { signal } = http
    // A browser reconnects after a second.
    this.send('retry: 1000\n\n')
    this.cleanups.push(this.feed.listen(() => void this.tick()))
    const aborted = (): void => this.close()
    signal.addEventListener('abort', aborted, { once: true })
    this.cleanups.push(() => signal.removeEventListener('abort', aborted))
    if (job !== null) this.cleanups.push(this.jobs.watch(job, () => this.jobChanged(job)))
  }

  private end(): void {
    this.controller = null
    for (const cleanUp of this.cleanups.splice(0)) cleanUp()
    this.onEnd()
  }

  private async tick(): Promise<void> {
    if (this.isTicking || this.controller === null) return
    const now = systemClock.monotonic()
    if (now - this.openedAt > streamMsMax) return this.close()
    if ((this.controller.desiredSize ?? 0) > 0) this.lastReadAt = now
    else {
      if (now - this.lastReadAt > unreadMsMax) this.close()
      return
    }
    this.isTicking = true
    try {
      await this.sendNew()
      if (this.storeFails) this.message('store', { ok: true })
      this.storeFails = false
    } catch (error) {
      if (error instanceof JobchartError && error.code === 'STOPPED') return this.close()
      const message = error instanceof Error ? storeMessage(error, this.request.role) : ''
      if (!this.storeFails) this.message('store', { ok: false, message })
      this.storeFails = true
    } finally {
      this.isTicking = false
    }
    if (now - this.lastSentAt > heartbeatMs) this.send(': heartbeat\n\n')
    this.flush()
  }

  private async sendNew(): Promise<void> {
    const { feed, request } = this
    if (feed.error !== null) throw feed.error
    if (this.place === null) await this.begin()
    else if (this.place < feed.head) this.sendTransitions(this.place)
    this.sendCounts()
    if (this.hasJobChanged && request.job !== null) this.jobChanged(request.job)
  }

  /** Starts now, or at the reader's cursor, which may be no longer kept or of another store's log. */
  private async begin(): Promise<void> {
    const { feed, request, settings } = this
    // A reader that loads the job after its first message misses no change.
    if (request.job !== null) await this.jobs.known(request.job)
    const { head } = feed
    const found = request.from === null ? head : feed.placeAfter(request.from)
    this.place = found ?? head
    const cursor = feed.cursorBefore(this.place)
    if (request.from === null) this.message('hello', { now: settings.client.store.now() }, cursor)
    else if (found === null) this.sendBytes(this.messages.reset(cursor))
    else if (found < head) this.sendTransitions(found)
  }

  private sendTransitions(place: number): void {
    const { feed, messages } = this
    if (feed.head - place > behindMax || feed.from(place, 0) === null) {
      this.place = feed.head
      return this.sendBytes(messages.reset(feed.cursorBefore(feed.head)))
    }
    const { entries, bytes } = messages.transitions(place)
    this.place = place + entries.length
    this.sendBytes(bytes)
  }

  private sendCounts(): void {
    const { feed, countsNumber } = this
    if (feed.counts === null || feed.countsNumber === countsNumber) return
    this.countsNumber = feed.countsNumber
    this.sendBytes(this.messages.counts(feed.counts, countsNumber))
  }

  private jobChanged(id: string): void {
    // Not before the first message, and to a reader that does not read when it does.
    this.hasJobChanged = this.place !== null && (this.controller?.desiredSize ?? 0) <= 0
    if (this.place !== null && !this.hasJobChanged) this.message('job', { id })
  }

  private message(event: string, data: unknown, id?: string): void {
    this.send(messageText(event, JSON.stringify(data), id))
  }

  private send(text: string): void {
    this.sendBytes(encoder.encode(text))
  }

  private sendBytes(bytes: Uint8Array): void {
    this.out.push(bytes)
    this.lastSentAt = systemClock.monotonic()
    if (!this.isTicking) this.flush()
  }

  private flush(): void {
    const { out } = this
    this.out = []
    const [first] = out
    if (first !== undefined) this.controller?.enqueue(out.length === 1 ? first : this.messages.join(out))
  }
}
