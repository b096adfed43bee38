/**
 * Sends events to jobs. Those to one job keep their order: what is sent while a call is under way goes together with
 * the next one, each on the condition that those before it were kept.
 *
 *   send ─▶ queue of the job ─▶ find repeated keys ─▶ read the job ─▶ admit each ─▶ store ─▶ answers
 *                                                         ▲                │ changed
 *                                                         └────────────────┘
 */
import { nanoid } from 'nanoid'
import type { SendSettings } from '../core/call-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import { isEnded } from '../core/lifecycle.ts'
import { payloadLimits } from '../core/limits.ts'
import { cancelEvent, type InboxMessage } from '../core/machine-record.ts'
import { roughSize } from '../core/payload.ts'
import type { JobRecord } from '../core/record.ts'
import type { SendAnswer, SendRequest, Store } from '../store.ts'
import { promised, refusedBy } from './answer.ts'
import type { EventHub } from './event-hub.ts'
import { checkType } from './not-found.ts'
import type { Timers } from './timers.ts'
import { checkEvent } from './validate.ts'

/**
 * Tries to write an event on the condition that the job has not changed since it was read; then it is written without
 * it.
 */
const conditionalTriesMax = 20

/**
 * Sends after which the next one waits for a turn of the event loop: a store may answer without one, and then the
 * machines that run in this process read nothing, until their inboxes are full.
 */
const sendsPerTurn = 20

/** Of one call. */
const callMax = { sends: 100, size: payloadLimits.bytesMax }

/** A condition that no job meets: only a message with the same key is found. */
const matchesNoJob = { checkpoint: -1, lastMessageNumber: -1 }

export type EventMessage = InboxMessage & { readonly kind: 'event' }
type Event = { readonly type: string }

/** What calls to jobs from outside need. */
export interface CallServices {
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly ready: () => Promise<void>
  readonly jobs: ReadonlyMap<string, JobDefinition>
  /** @throws JobchartError NOT_FOUND */
  readonly record: (id: string) => Promise<JobRecord>
}

interface SendsOptions extends CallServices {
  /**
   * Does a job take an event? @param record with the events that are sent before it
   * @returns the name of the definition that has judged it, if it is not that of the job
   * @throws JobchartError NOT_ACCEPTED, UNKNOWN_TYPE
   */
  readonly admit: (record: JobRecord, event: Event, accept: SendSettings['accept']) => Promise<string | null>
  /** Records were shown to `admit` that may never come to be. */
  readonly guessed: (record: JobRecord) => void
  /** Cancels a job by the event of a cancel. @throws JobchartError NOT_ACCEPTED */
  readonly cancel: (record: JobRecord, event: Event) => Promise<void>
}

class Send {
  readonly message: EventMessage
  readonly settings: SendSettings
  /** What the caller takes the type of the job for, if it has said so. */
  readonly type: string | undefined
  /** Tells the message from others: that of the caller, or one of its own. */
  readonly key: string
  isChecked = false
  /** How often it was in vain, because the job had changed. */
  tries = 0
  private readonly outcome = Promise.withResolvers<void>()
  readonly ended = this.outcome.promise
  readonly resolve = this.outcome.resolve
  readonly reject = this.outcome.reject

  constructor(sent: EventMessage, settings: SendSettings, type: string | undefined) {
    const { key, keepMs } = settings
    this.message = { ...sent, ...(key !== undefined && { key }), ...(keepMs !== undefined && { keepMs }) }
    this.settings = settings
    this.type = type
    this.key = key ?? nanoid()
  }

  get event(): Event {
    return this.message.event as Event
  }
}

export class Sends {
  private readonly options: SendsOptions
  /** Those that no call has taken yet, of jobs to which something is being sent. */
  private readonly queues = new Map<string, Send[]>()
  private sinceTurn = 0

  constructor(options: SendsOptions) {
    this.options = options
  }

  /**
   * @param type what the caller takes the type of the job for, if it has said so
   * @throws JobchartError NOT_FOUND, NOT_ACCEPTED, CAPACITY, INVALID_INPUT, INVALID_OPTION, UNKNOWN_TYPE,
   * STORE_UNAVAILABLE
   */
  send(id: string, message: EventMessage, settings: SendSettings, type: string | undefined): Promise<void> {
    const send = new Send(message, settings, type)
    const queue = this.queues.get(id)
    if (queue === undefined) {
      const own = [send]
      this.queues.set(id, own)
      void this.work(id, own)
    } else {
      queue.push(send)
    }
    return send.ended
  }

  private async work(id: string, queue: Send[]): Promise<void> {
    while (queue.length > 0) {
      let left: readonly Send[] = []
      try {
        await this.options.ready()
        left = taken(queue)
        await this.turn(left.length)
        left = await this.withoutRepeated(id, left)
        while (left.length > 0) left = await this.round(id, left)
      } catch (error) {
        for (const send of left.length > 0 ? left : queue.splice(0)) send.reject(error)
      }
    }
    this.queues.delete(id)
  }

  private async turn(sends: number): Promise<void> {
    this.sinceTurn += sends
    if (this.sinceTurn < sendsPerTurn) return
    this.sinceTurn = 0
    await new Promise<void>((resolve) => this.options.timers.clock.nextTurn(resolve))
  }

  /** A repeated send may have been read already, and the state after it may not accept it: looks for the key first. */
  private async withoutRepeated(id: string, sends: readonly Send[]): Promise<readonly Send[]> {
    const keyed = sends.filter(({ settings }) => settings.key !== undefined)
    if (keyed.length === 0) return sends
    const answers = await this.deliver(keyed.map(({ message, key }) => ({ id, message, key, expect: matchesNoJob })))
    const repeated = new Set(keyed.filter((_, i) => answers[i]?.outcome === 'duplicate'))
    for (const { resolve } of repeated) resolve()
    return sends.filter((send) => !repeated.has(send))
  }

  /** @returns those that are not decided */
  private async round(id: string, sends: readonly Send[]): Promise<readonly Send[]> {
    const { record: read, cancel, guessed } = this.options
    const record = await read(id)
    const [first] = sends
    if (first !== undefined && first.event.type === cancelEvent) {
      await this.decided(first, record, () => cancel(record, first.event))
      return sends.slice(1)
    }
    const requests: SendRequest[] = []
    let [seen, isConditional] = [record, false]
    for (const send of sends) {
      const request = await this.requestOf(send, seen, requests.length > 0)
      if (request === null) break
      isConditional ||= send.settings.accept === 'now' && (first?.tries ?? 0) < conditionalTriesMax
      const behind = requests.at(-1)?.key
      const expect = {
        checkpoint: record.checkpoint?.number ?? 0,
        lastMessageNumber: seen.lastMessageNumber,
        ...(behind !== undefined && { behind }),
      }
      requests.push({ ...request, expect: isConditional ? expect : null })
      seen = afterMessage(seen, request.message, this.options.store.now())
    }
    if (sends.length > 1) guessed(record)
    // The first was refused.
    if (requests.length === 0) return sends.slice(1)
    const asked = sends.slice(0, requests.length)
    return [...(await this.sent(asked, requests)), ...sends.slice(requests.length)]
  }

  /**
   * @param record with the events that are sent before it
   * @returns null if it cannot be sent: it is refused, unless others are sent before, after which it may be different
   */
  private async requestOf(
    send: Send,
    record: JobRecord,
    hasOthers: boolean,
  ): Promise<Omit<SendRequest, 'expect'> | null> {
    const { jobs, admit } = this.options
    const { event, settings, message, key } = send
    if (hasOthers && event.type === cancelEvent) return null
    try {
      checkLive(send, record)
      if (!send.isChecked) await checkEvent(jobs.get(record.type), message.event)
      send.isChecked = true
      const judgedBy = await admit(record, event, settings.accept)
      return { id: record.id, key, message: judgedBy === null ? message : { ...message, judgedBy } }
    } catch (error) {
      if (!hasOthers) send.reject(error)
      return null
    }
  }

  private async decided(send: Send, record: JobRecord, work: () => Promise<void>): Promise<void> {
    try {
      checkLive(send, record)
      await work()
      send.resolve()
    } catch (error) {
      send.reject(error)
    }
  }

  /** @returns those of which the job has changed meanwhile */
  private async sent(sends: readonly Send[], requests: readonly SendRequest[]): Promise<readonly Send[]> {
    let answers: readonly SendAnswer[]
    try {
      answers = await this.deliver(requests)
    } catch (error) {
      for (const send of sends) send.reject(error)
      return []
    }
    return sends.filter((send, i) => {
      const { outcome, error } = answers[i] as SendAnswer
      if (outcome === 'kept' || outcome === 'duplicate') send.resolve()
      else if (outcome === 'full') send.reject(inboxFull(requests[i]?.id ?? ''))
      else if (outcome === 'failed')
        send.reject(refusedBy(this.options.store.name, `an event to job ${requests[i]?.id}`, error))
      else return ++send.tries > 0
      return false
    })
  }

  private deliver(requests: readonly SendRequest[]): Promise<readonly SendAnswer[]> {
    const { store, hub } = this.options
    return promised(
      () => store.send(requests),
      (answers) => {
        for (const { transition } of answers) if (transition !== undefined) hub.emit(transition)
        return answers
      },
    )
  }
}

/** Takes as many as one call may have; of those with one key only the first. */
function taken(queue: Send[]): readonly Send[] {
  const keys = new Set<string>()
  let [count, size] = [0, 0]
  for (const { key, message } of queue) {
    size += roughSize(message.event)
    if (count > 0 && (count >= callMax.sends || size > callMax.size || keys.has(key))) break
    keys.add(key)
    count++
  }
  return queue.splice(0, count)
}

/** A job as it will be when it has got a message. */
function afterMessage(record: JobRecord, message: SendRequest['message'], at: number): JobRecord {
  const number = record.lastMessageNumber + 1
  return { ...record, lastMessageNumber: number, inbox: [...record.inbox, { number, at, message }] }
}

/** @throws JobchartError NOT_ACCEPTED, NOT_FOUND */
function checkLive({ type }: Send, record: JobRecord): void {
  if (type !== undefined) checkType(record, type)
  if (isEnded(record.state)) throw hasEnded(record)
}

const hasEnded = ({ id, state }: JobRecord): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `job ${id} is ${state}: it accepts no events`, {
    hint: 'Check record().state first; runtime.retry(id) runs a dead or cancelled job again.',
  })

const inboxFull = (id: string): JobchartError =>
  new JobchartError('CAPACITY', `the inbox of job ${id} is full: it holds events that its machine has not read`, {
    hint: 'Send again later. Check that a runtime with this job type is running, and that the machine reads its events.',
  })
