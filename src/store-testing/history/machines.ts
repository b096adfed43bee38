/**
 * I11: machines. What each attempt was given, and what it wrote, is followed in the order of the claims. A call that
 * was not answered may have been written or not: so what is known of a number is a span, until the next claim tells
 * which it was.
 */
import { caps } from '../../core/caps.ts'
import { wording, type Attempt, type CheckpointFact, type JobFacts, type MachineFacts } from './facts.ts'
import type { JobRecord } from '../../core/record.ts'
import type { Facts } from './gather.ts'
import type { Findings } from './violation.ts'

/** What a number is: one of these. */
interface Span {
  lowest: number
  highest: number
}

export function checkMachines(facts: Facts, findings: Findings): void {
  for (const job of facts.jobs.values()) {
    const { machine } = job
    // A new input starts a machine over while it waits, and nothing tells when.
    if (machine === null || machine.replaced) continue
    checkKeys(job, machine, findings)
    const checker = new MachineChecker(job, machine, facts.mayHaveRestarted, findings)
    for (const attempt of [...job.attempts.values()].toSorted((a, b) => a.seq - b.seq)) checker.follow(attempt)
    checker.end()
  }
}

/** A key is kept once, as long as it is remembered, and known again only if it was sent before. */
function checkKeys({ id, record }: JobFacts, { messages }: MachineFacts, findings: Findings): void {
  const kept = messages.filter(({ outcome }) => outcome === 'kept')
  const freed = new Set(droppedOf(record).map(({ key }) => key))
  for (const [key, sent] of Map.groupBy(messages, (message) => message.key)) {
    const times = sent.filter(({ outcome }) => outcome === 'kept').length
    // A drop frees the key.
    if (freed.has(key)) continue
    if (times > 1 && kept.length <= caps.messageKeys) {
      findings.add('I11', `message ${key} to job ${id} was kept ${times} times`)
    }
    const known = sent.some(({ outcome }) => outcome === 'duplicate')
    if (known && times === 0 && sent.every(({ outcome }) => outcome !== 'unknown')) {
      findings.add('I11', `message ${key} to job ${id} was known to be there, and nobody has sent it`)
    }
  }
}

/** The events that the log of a job says were dropped. */
function droppedOf(
  record: Pick<JobRecord, 'logs'> | null,
): readonly { readonly number: number; readonly key?: string }[] {
  return (record?.logs ?? []).flatMap(({ fields }) => {
    const { dropped } = (fields ?? {}) as {
      readonly dropped?: readonly { readonly number: number; readonly key?: string }[]
    }
    return dropped ?? []
  })
}

class MachineChecker {
  private readonly job: JobFacts
  private readonly machine: MachineFacts
  private readonly restarts: readonly number[]
  private readonly findings: Findings
  /** Of the last checkpoint; 0: none. */
  private readonly number: Span
  /** Of the last message that was read. */
  private readonly read: Span = { lowest: 0, highest: 0 }
  /**
   * By the number of each checkpoint, what it has read. A machine that starts anew has read nothing, whatever was read
   * before.
   */
  private readonly readAt = new Map<number, number>()
  /** The last message that somebody was given. */
  private seen = 0
  private seq = 0
  /** Messages that a checkpoint has deferred: they stay in the inbox after they were read. */
  private readonly deferred: ReadonlySet<number>
  private last: Attempt | null = null

  constructor(job: JobFacts, machine: MachineFacts, mayHaveRestarted: boolean, findings: Findings) {
    this.job = job
    this.machine = machine
    this.findings = findings
    this.deferred = new Set(machine.checkpoints.flatMap(({ deferred }) => deferred ?? []))
    const retries = job.steps.filter(({ event }) => event === 'RETRY').map(({ seq }) => seq)
    this.restarts = mayHaveRestarted ? retries : machine.restarts
    const births = job.inserts.filter(({ outcome }) => outcome === 'inserted' || outcome === 'unknown')
    const forked = births.map(({ asked }) => (asked.forked === true ? 1 : 0))
    this.number = { lowest: Math.min(1, ...forked), highest: Math.max(0, ...forked) }
  }

  /** Follows one attempt: what it was given, and then what it wrote. */
  follow(attempt: Attempt): void {
    this.passTo(attempt.seq)
    this.last = attempt
    const what = `attempt ${attempt.attempt} (${attempt.seq})`
    this.stands(`${what} was given`, attempt.checkpoint)
    this.holds(`${what} was given`, attempt.inbox)
    const known = this.machine.messages.filter(
      ({ outcome, answeredAt }) => outcome === 'kept' && answeredAt < attempt.askedAt,
    ).length
    if (Math.max(attempt.inbox.at(-1) ?? 0, this.read.highest) < known) {
      this.add(`${what} was given messages ${list(attempt.inbox)}, and ${known} had been acknowledged`)
    }
    let before = this.readAt.get(attempt.checkpoint) ?? 0
    for (const fact of this.machine.checkpoints) {
      if (fact.token !== attempt.token || fact.outcome === 'lost') continue
      const asked = `checkpoint ${fact.number} of ${what}`
      if (fact.read < before)
        this.add(`${asked} has read messages up to ${fact.read}, the one before it up to ${before}`)
      if (fact.read > Math.max(attempt.given, this.read.highest)) {
        this.add(`${asked} has read messages up to ${fact.read}, it was given those up to ${attempt.given}`)
      }
      before = Math.max(before, fact.read)
      this.readAt.set(fact.number, before)
      this.write(asked, fact)
    }
    this.seen = Math.max(this.seen, attempt.given)
  }

  /** Compares what is left in the end. */
  end(): void {
    const { record } = this.job
    if (record === null) return
    this.passTo(Infinity)
    const { checkpoint, inbox, lastMessageNumber: messages, state } = record
    const numbers = inbox.map(({ number }) => number)
    this.stands('it stands at', checkpoint?.number ?? 0)
    const kept = this.machine.messages.filter(({ outcome }) => outcome === 'kept').length
    if (messages < kept) this.add(`${kept} messages were acknowledged, ${messages} have come`)
    // A machine that was cancelled may have come to its own end all the same.
    if (record.history.at(-1)?.event === 'COMPLETE') return this.ended(record)
    this.holds('it holds', numbers)
    if (numbers.length > 0 && numbers.at(-1) !== messages)
      this.add(`its last message is ${messages}, it holds ${list(numbers)}`)
    const unread = numbers.filter((number) => !this.deferred.has(number))
    if (state === 'waiting' && unread.length > 0) this.add(`it waits, and messages ${list(unread)} wait for it`)
  }

  /** The end of a machine removes what is left in its inbox, and reports the events. */
  private ended({ checkpoint, inbox, logs, state }: JobRecord): void {
    if (inbox.length > 0) this.add(`it is ${state}, and holds ${list(inbox.map(({ number }) => number))}`)
    // An event may end the machine before it reads the next one. The first that its last attempt was given must be
    // read, if the machine had not ended before.
    const dropped = droppedOf({ logs }).map(({ number }) => number)
    const first = this.last?.inbox.find((number) => !this.deferred.has(number))
    const hasReadNone = first !== undefined && first > this.read.highest && dropped.includes(first)
    const hadEnded = this.machine.checkpoints.some(({ number, isDone }) => isDone && number === this.last?.checkpoint)
    // A handler that is no machine reads none.
    if (checkpoint !== null && hasReadNone && !hadEnded)
      this.add(`it is ${state}, and was given message ${first}, which it has not read`)
  }

  /** Goes on to a place in the order of all transitions: was it sent back to its start on the way? */
  private passTo(seq: number): void {
    if (this.restarts.some((restart) => restart > this.seq && restart < seq)) {
      const surely = this.machine.restarts.some((restart) => restart > this.seq && restart < seq)
      this.readAt.clear()
      this.number.lowest = 0
      if (surely) this.number.highest = 0
      this.read.lowest = surely ? Math.max(this.seen, this.read.lowest) : this.read.lowest
      this.read.highest = Infinity
    }
    this.seq = seq
  }

  /** Is it where it may be? From now on it is there. */
  private stands(what: string, number: number): void {
    const { lowest, highest } = this.number
    if (number < lowest || number > highest)
      this.add(`${what} checkpoint ${number}, the last one written is ${spanned(this.number)}`)
    this.number.lowest = this.number.highest = number
  }

  /** Are the messages of an inbox those that have come and are not read? */
  private holds(what: string, all: readonly number[]): void {
    const { read, seen } = this
    const numbers = all.filter((number) => !this.deferred.has(number))
    const [first] = numbers
    const last = numbers.at(-1) ?? read.highest
    if (numbers.some((number, i) => i > 0 && number !== (numbers[i - 1] ?? 0) + 1)) {
      this.add(`${what} messages ${list(numbers)}, which do not follow on each other`)
    }
    if (first !== undefined && first <= read.lowest)
      this.add(`${what} message ${first}, those up to ${read.lowest} were read`)
    if (first !== undefined && first > read.highest + 1) {
      this.add(`${what} message ${first} first, and those after ${read.highest} were never read`)
    }
    if (last < seen) this.add(`${what} messages ${list(numbers)}, it had been given those up to ${seen}`)
    this.seen = Math.max(seen, numbers.at(-1) ?? 0)
    if (first === undefined) read.lowest = Math.min(Math.max(read.lowest, seen), read.highest)
    else read.lowest = read.highest = first - 1
  }

  private write(what: string, { number, read, outcome, inbox }: CheckpointFact): void {
    const { lowest, highest } = this.number
    if (outcome === 'unknown') {
      this.number.highest = Math.max(highest, number)
      this.read.highest = Math.max(this.read.highest, read)
      return
    }
    const isNext = number > lowest && number <= highest + 1
    if (!isNext && (number !== lowest || number === 0))
      this.add(`${what} was kept, the last one written is ${spanned(this.number)}`)
    this.number.lowest = Math.max(lowest, number)
    this.number.highest = Math.max(highest, number)
    if (isNext) this.read.lowest = Math.max(this.read.lowest, read)
    this.read.highest = Math.max(this.read.highest, read)
    if (inbox !== null) this.holds(`${what} was answered with`, inbox)
  }

  private add(message: string): void {
    const { id, steps, attempts } = this.job
    const given = Array.from(attempts.values(), ({ attempt, seq, checkpoint, inbox }) => {
      return `attempt ${attempt} (${seq}) was given checkpoint ${checkpoint}, messages ${list(inbox)}`
    })
    const wrote = this.machine.checkpoints.map(({ number, read, outcome, token }) => {
      return `checkpoint ${number} by ${token}, messages read up to ${read}: ${outcome}`
    })
    this.findings.add('I11', `job ${id}: ${message}`, [...steps.map(wording), ...given, ...wrote])
  }
}

const spanned = ({ lowest, highest }: Span): string => (lowest === highest ? `${lowest}` : `${lowest} to ${highest}`)
const list = (numbers: readonly number[]): string => (numbers.length === 0 ? 'none' : numbers.join(', '))
