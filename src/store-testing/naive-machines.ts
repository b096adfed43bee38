/** Machine jobs of the naive store: checkpoints, messages, ends of child jobs, and cancels of parents and children. */
import { caps } from '../core/caps.ts'
import { droppedLine, keptLine, keysOf } from '../core/dropped-events.ts'
import { lastLogs } from '../core/log-lines.ts'
import {
  mayGather,
  type CheckpointEntry,
  type InboxEntry,
  type InboxMessage,
  type NewCheckpoint,
} from '../core/machine-record.ts'
import type { LogLine } from '../core/record.ts'
import type * as contract from '../store.ts'
import { byPriority, is, NaiveJobs, type Job } from './naive-jobs.ts'

interface Mark {
  readonly reason: string | null
  readonly graceMs: number | null
}

export class NaiveMachines extends NaiveJobs {
  private readonly heatCounts: (contract.StoredHeat['counts'][number] & {
    readonly type: string
    readonly at: number
  })[] = []

  checkpoint(requests: readonly contract.CheckpointRequest[]): contract.CheckpointAnswer[] {
    return requests.map(({ id, attempt, token, checkpoint }) => {
      const job = this.leasedBy(id, attempt, token)
      if (!job) return { outcome: 'lost', seq: 0, at: 0, maxAttempts: 0, inbox: [] }
      const { seq, at } = this.keepCheckpoint(job, checkpoint)
      const { maxAttempts } = job.record
      const inbox = unreadOf(job)
      return { outcome: 'kept', seq, at, maxAttempts, inbox, ...this.stopNotice(job) }
    })
  }

  send(requests: readonly contract.SendRequest[]): contract.SendAnswer[] {
    return requests.map(({ id, message, key, expect }) => {
      const job = this.find(id)
      if (!job) return { outcome: 'notFound', state: null }
      if (message.kind === 'resume' && job.record.unsupported && job.record.state === 'scheduled' && job.record.dueAt) {
        return { outcome: 'resumed', transition: this.applyEvent(job, 'DUE'), state: 'queued' }
      }
      const { state, lastMessageNumber: messages, inbox, checkpoint } = job.record
      const { behind = job.keys.at(-1) } = expect ?? {}
      const seen =
        expect === null ||
        (expect.checkpoint === (checkpoint?.number ?? 0) &&
          expect.lastMessageNumber === messages &&
          behind === job.keys.at(-1))
      if (job.keys.includes(key)) return { outcome: 'duplicate', state }
      if (is('ended', job)) return { outcome: 'ended', state }
      if (!seen) return { outcome: 'changed', state }
      if (inbox.length >= caps.inbox) return { outcome: 'full', state }
      job.keys = [...job.keys, key].slice(-caps.messageKeys)
      const transition = this.deliver(job, message)
      return { outcome: 'kept', state: job.record.state, ...(transition && { transition }) }
    })
  }

  reindex(requests: readonly contract.ReindexRequest[]): contract.ReindexAnswer[] {
    return requests.map(({ id, checkpoint, standing, unsupported }) => {
      const record = this.find(id)?.record
      if (!record) return { outcome: 'notFound' }
      if (record.state !== 'waiting' || record.checkpoint?.number !== checkpoint) return { outcome: 'changed' }
      if (standing) {
        const { states, tags, takesCancel } = standing
        Object.assign(record, { machineStates: states, machineTags: tags, takesCancel })
      }
      const first = record.unsupported ?? {
        tries: 0,
        since: this.time,
        seq: this.find(id)?.checkpoints.at(-1)?.seq ?? 0,
      }
      record.unsupported = unsupported && { ...first, ...unsupported }
      return { outcome: 'kept' }
    })
  }

  checkpoints(id: string): readonly CheckpointEntry[] {
    return this.find(id)?.checkpoints ?? []
  }

  machineCounts(type: string): contract.MachineCounts {
    const records = this.jobs.filter((job) => job.record.type === type && is('live', job)).map(({ record }) => record)
    const count = (names: readonly string[]): Record<string, number> =>
      Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((each) => each === name).length]))
    return {
      states: count(records.flatMap(({ machineStates }) => machineStates)),
      tags: count(records.flatMap(({ machineTags }) => machineTags)),
      outcomes: count(this.outcomes.flatMap((each) => (each.type === type ? [each.outcome] : []))),
    }
  }

  heat({ type, period }: contract.HeatQuery): contract.StoredHeat {
    const hour = 3_600_000
    const thisHour = Math.floor(this.time / hour) * hour
    const today = Math.floor(this.time / (24 * hour)) * 24 * hour
    const from = { hour: thisHour - hour, day: thisHour - 24 * hour, week: today - 7 * 24 * hour }[period]
    const counted = this.heatCounts.filter((each) => each.type === type && each.at >= from)
    const counts = [...new Set(counted.map(({ name }) => name))].map((name) => {
      const same = counted.filter((each) => each.name === name)
      return { name, count: same.reduce((sum, { count }) => sum + count, 0), lastId: same.at(-1)?.lastId ?? '' }
    })
    return { from, counts }
  }

  cancel(requests: readonly contract.CancelRequest[]): contract.CancelAnswer[] {
    return requests.map(({ ids, reason, graceMs }) => {
      const { jobs, notFound } = this.findEach(ids)
      const [cancelled, cancelling, finished]: [string[], string[], string[]] = [[], [], []]
      const transitions: contract.WrittenTransition[] = []
      const forced: Job[] = []
      for (const job of jobs.toSorted((a, b) => byPriority(a, b) || a.seq - b.seq)) {
        const wasEnded = is('ended', job)
        if (!wasEnded && this.cancelOne(job, { reason, graceMs }, transitions)) forced.push(job)
        const list = wasEnded ? finished : is('ended', job) ? cancelled : cancelling
        list.push(job.record.id)
      }
      this.cancelChildren(forced, graceMs, transitions)
      return { cancelled, cancelling, notFound, finished, transitions }
    })
  }

  /** Cancels the holder of a key. Its child jobs are cancelled, too; only the log reports them. */
  protected supersede(job: Job): contract.WrittenTransition | undefined {
    const transitions: contract.WrittenTransition[] = []
    if (this.cancelNow(job, { reason: 'superseded', graceMs: null }, transitions)) {
      this.cancelChildren([job], null, transitions)
    }
    return transitions[0]
  }

  private cancelChildren(parents: Job[], graceMs: number | null, transitions: contract.WrittenTransition[]): void {
    for (const { record } of parents) {
      const children = this.jobs.filter((job) => job.record.parent?.id === record.id && is('live', job))
      for (const child of children.toSorted((a, b) => byPriority(a, b) || a.seq - b.seq)) {
        if (this.cancelOne(child, { reason: 'its parent was cancelled', graceMs }, transitions)) parents.push(child)
      }
    }
  }

  /** Cancels a live job. @returns whether this call has forced the cancel */
  private cancelOne(job: Job, mark: Mark, transitions: contract.WrittenTransition[]): boolean {
    if (!job.record.takesCancel || job.marked) return this.cancelNow(job, mark, transitions)
    this.mark(job, mark)
    const woken = this.deliver(job, { kind: 'cancel', reason: mark.reason, generation: job.record.generation })
    if (woken !== undefined) transitions.push(woken)
    return false
  }

  private cancelNow(job: Job, mark: Mark, transitions: contract.WrittenTransition[]): boolean {
    if (job.record.state === 'cancelling') return false
    this.mark(job, mark)
    transitions.push(this.applyEvent(job, 'CANCEL', { reason: mark.reason }))
    this.reportKept(job)
    transitions.push(
      ...[this.notifyParentOfEnd(job), this.releaseSuccessor(job)].filter((transition) => transition !== undefined),
    )
    return true
  }

  private mark(job: Job, { reason, graceMs }: Mark): void {
    Object.assign(job, { marked: true, graceMs })
    job.record.cancelReason = reason
  }

  protected leasedBy(id: string, attempt: number, token: string): Job | undefined {
    const job = this.find(id)
    return job && is('leased', job) && job.token === token && job.record.attempt === attempt ? job : undefined
  }

  protected stopNotice(job: Job): { outcome: 'cancelling'; reason?: string; graceMs?: number } | undefined {
    const { state, cancelReason: reason } = job.record
    if (state !== 'cancelling') return undefined
    const { graceMs } = job
    return { outcome: 'cancelling', ...(reason !== null && { reason }), ...(graceMs !== null && { graceMs }) }
  }

  protected keepCheckpoint(job: Job, checkpoint: NewCheckpoint): CheckpointEntry {
    const {
      number,
      state,
      note,
      takesCancel,
      forgetSteps,
      failures = [],
      heat = [],
      states = [],
      tags = [],
    } = checkpoint
    const { record } = job
    const current = job.checkpoints.at(-1)
    if (current?.number === number) return current
    if (number !== (current?.number ?? 0) + 1) throw new Error(`checkpoint ${number} after ${current?.number}`)
    this.read(job, checkpoint)
    const { seq, at } = this.note(job, 'CHECKPOINT', record.state, note)
    for (const { error } of failures) this.addFailure(error, { ...record, seq, at })
    for (const [name, count] of heat) this.heatCounts.push({ type: record.type, name, count, lastId: record.id, at })
    const entry = { number, state, seq, at, note }
    job.checkpoints = [...job.checkpoints, entry].slice(-caps.checkpoints)
    const kept = Object.entries(job.steps ?? {}).filter(([name]) => forgetSteps?.includes(name) !== true)
    job.steps = kept.length === 0 ? null : Object.fromEntries(kept)
    record.checkpoint = { number, state }
    record.machineStates = states
    record.machineTags = tags
    record.takesCancel = takesCancel
    record.unsupported = null
    record.maxAttempts = job.base + record.attempt - 1
    return entry
  }

  private read(job: Job, { read: upTo, deferred = [], dropped = [] }: NewCheckpoint): void {
    const { record } = job
    // What was read stays read.
    const lastRead = (unreadOf(job)[0]?.number ?? record.lastMessageNumber + 1) - 1
    const read = Math.max(lastRead, upTo)
    for (const number of deferred) {
      const there = record.inbox.some((each) => each.number === number && number <= read)
      if (!there) throw new Error(`message ${number} is deferred, and was not read`)
    }
    for (const why of ['not taken', 'expired'] as const) {
      const numbers = new Set(dropped.filter((each) => each.why === why).map(({ number }) => number))
      this.drop(
        job,
        record.inbox.filter(({ number }) => numbers.has(number)),
        why,
      )
    }
    record.inbox = record.inbox.filter(({ number }) => number > read || deferred.includes(number))
    record.deferred = record.inbox.map(({ number }) => number).filter((number) => deferred.includes(number))
  }

  /** Reports the events among messages that are dropped, frees their keys, and removes them. */
  protected drop(job: Job, gone: readonly InboxEntry[], why: Parameters<typeof droppedLine>[1]): void {
    const line = droppedLine(gone, why)
    if (line !== null) this.writeLog(job, line)
    const freed = keysOf(gone)
    job.keys = job.keys.filter((key) => !freed.has(key))
    job.record.inbox = job.record.inbox.filter((entry) => !gone.includes(entry))
    job.record.deferred = job.record.deferred.filter((number) => !gone.some((entry) => entry.number === number))
  }

  /** A job that has died or was cancelled says in its log which events it keeps. */
  protected reportKept(job: Job): void {
    const { state, inbox } = job.record
    const line = state === 'dead' || state === 'cancelled' ? keptLine(inbox, state) : null
    if (line !== null) this.writeLog(job, line)
  }

  private writeLog({ record }: Job, line: Omit<LogLine, 'at' | 'attempt'>): void {
    record.logs = lastLogs([...record.logs, { at: this.time, attempt: record.attempt, ...line }])
  }

  /** Puts a message into an inbox, and wakes the job if it waits. */
  private deliver(job: Job, message: InboxMessage): contract.WrittenTransition | undefined {
    const { record } = job
    record.lastMessageNumber += 1
    record.inbox = [...record.inbox, { number: record.lastMessageNumber, at: this.time, message }]
    return this.wake(job)
  }

  /** Wakes a waiting job with unread messages, unless it gathers them. */
  protected wake(job: Job): contract.WrittenTransition | undefined {
    const { record, gather } = job
    const unread = unreadOf(job)
    if (record.state !== 'waiting' || unread.length === 0) return undefined
    const news = unread.every(({ message }) => mayGather(message))
    if (gather === null || !news || unread.length >= gather.messages) return this.applyEvent(job, 'WAKE')
    record.dueAt = Math.min(record.dueAt ?? Infinity, this.time + gather.ms)
    return undefined
  }

  protected notifyParentOfCheckin(
    job: Job,
    value: NonNullable<contract.HeartbeatPayload['checkin']>['value'],
  ): contract.WrittenTransition | undefined {
    const parent = this.parentOf(job)
    if (!parent || job.record.parent?.checkins !== true || parent.record.inbox.length >= caps.inbox) return undefined
    return this.deliver(parent, { kind: 'checkin', child: job.record.id, value })
  }

  /** Sends the end of a job, if it has ended, to its parent. */
  protected notifyParentOfEnd(job: Job): contract.WrittenTransition | undefined {
    const parent = this.parentOf(job)
    const { id: child, state, output, error, cancelReason: reason } = job.record
    if (!parent || !(state === 'done' || state === 'dead' || state === 'cancelled')) return undefined
    return this.deliver(parent, {
      kind: 'ended',
      child,
      state,
      ...(state === 'done' && output !== undefined && { output }),
      ...(state === 'dead' && error !== null && { error }),
      ...(state === 'cancelled' && reason !== null && { reason }),
    })
  }

  /** Postpones a job that no worker could run; its history keeps the first postponement only. */
  protected putOff({ record }: Job, version: string, reason: string, { seq, at }: contract.WrittenTransition): void {
    if (record.state !== 'scheduled') return
    const { tries, since, ...first } = record.unsupported ?? { tries: 0, since: at, seq }
    const from = tries > 0 ? first.seq : seq
    record.unsupported = { version, reason, tries: tries + 1, since, seq: from }
    if (tries > 0) record.history = record.history.filter((entry) => entry.seq <= from)
  }

  private parentOf({ record: { parent } }: Job): Job | undefined {
    return this.jobs.find((job) => job.record.id === parent?.id && is('live', job))
  }

  /** Removes the checkpoints and messages of a job. */
  protected forgetCheckpoints(job: Job): void {
    this.drop(job, job.record.inbox, 'start')
    Object.assign(job, { checkpoints: [] })
    Object.assign(job.record, { checkpoint: null, machineStates: [], machineTags: [], takesCancel: false })
  }
}

const unreadOf = ({ record: { inbox, deferred } }: Job): InboxEntry[] =>
  inbox.filter(({ number }) => !deferred.includes(number))
