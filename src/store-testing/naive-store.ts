/**
 * A store so simple that it is evidently correct: plain arrays, filtered and sorted anew by every call, in virtual
 * time. Random command sequences run against it and a real store side by side. It shares no code with other stores
 * except the chart.
 */
import { isDeepStrictEqual } from 'node:util'
import { byteLength } from '../core/platform.ts'
import { caps } from '../core/caps.ts'
import { leaseExpired } from '../core/failure.ts'
import type { JobRecord, LogLine, Transition } from '../core/record.ts'
import { jobStates, type JobState } from '../core/lifecycle.ts'
import type { Settlement } from '../core/settlement.ts'
import type * as contract from '../store.ts'
import { byPriority, is, type Job } from './naive-jobs.ts'
import { NaiveMachines } from './naive-machines.ts'

export class NaiveStore extends NaiveMachines {
  private readonly paused = new Set<string>()
  private readonly policies = new Map<string, contract.RetentionPolicy>()
  private otherPolicy: contract.RetentionPolicy | null = null
  /** By type the limits per key that hold, when their worker started, and its last claim. */
  private readonly terms = new Map<string, { readonly text: string; readonly since: number; readonly at: number }>()
  private claims: { type: string; key: string | null; at: number }[] = []
  private readonly known = new Map<string, { info: contract.WorkerInfo; seenAt: number }>()

  insert(requests: readonly contract.InsertRequest[]): contract.InsertAnswer[][] {
    return requests.map((request) => {
      const before = structuredClone({ jobs: this.jobs, log: this.log.length, starts: this.starts })
      const freeSlots = this.freeSlots(request.queue?.type ?? '')
      const answers = request.jobs.map((job) => this.insertOne(job))
      const taken = answers.find(({ outcome }) => outcome === 'id-taken')
      const waiting = this.jobs.filter((job) => is('backlog', job)).map((job) => job.record.type)
      const { capacity, queue } = request
      const isNew = (type?: string): boolean =>
        answers.some(
          ({ outcome }, i) => outcome === 'inserted' && (type ?? request.jobs[i]?.type) === request.jobs[i]?.type,
        )
      const isFull = isNew() && waiting.length > (capacity ?? Infinity)
      const isQueueFull =
        queue !== undefined &&
        isNew(queue.type) &&
        (queue.capacity === 0
          ? this.growthOf(queue.type, before.jobs) > freeSlots
          : waiting.filter((type) => type === queue.type).length > queue.capacity)
      if (taken === undefined && !isFull && !isQueueFull) return answers
      // All or none: restores the state before the request.
      this.jobs = before.jobs
      this.starts = before.starts
      this.log.length = before.log
      const nowhere = { state: 'queued', seq: 0, at: 0, dueAt: null } as const
      return request.jobs.map(({ id }) => {
        return taken
          ? { outcome: 'id-taken', id: taken.id, ...nowhere }
          : { outcome: 'full', full: isFull ? 'store' : 'queue', id, ...nowhere }
      })
    })
  }

  /** How many more jobs of a type wait to run than before, except those that were scheduled or retrying then. */
  private growthOf(type: string, before: readonly Job[]): number {
    const queued = new Set(before.filter(({ record }) => record.state === 'queued').map(({ record }) => record.id))
    const others = new Set(before.map(({ record }) => record.id)).difference(queued)
    const waits = this.jobs.filter((job) => job.record.type === type && is('backlog', job))
    const wasQueued = before.filter(({ record }) => record.type === type && queued.has(record.id))
    return waits.filter(({ record }) => !others.has(record.id)).length - wasQueued.length
  }

  /** How many jobs of a type may be handed over. */
  private freeSlots(type: string): number {
    const workers = this.workers().filter((worker) => !worker.lost && !worker.paused && worker.types.includes(type))
    const slots = workers.reduce((sum, worker) => sum + Math.max(0, worker.slots - worker.running.length), 0)
    const counted = (state: (job: Job) => boolean, of: string): number =>
      this.jobs.filter((job) => job.record.type === of && state(job)).length
    // A worker may report limits of a type that it does not list: these count for nothing.
    const limitsOf = (of: string): (contract.TypeLimits | undefined)[] =>
      workers.filter(({ types }) => types.includes(of)).map(({ limits }) => limits?.[of])
    const most = (of: string): number => Math.max(...limitsOf(of).map((limits) => limits?.concurrency ?? Infinity))
    const free = (of: string): number => most(of) - counted((job) => is('leased', job), of)
    const queued = (of: string): number => counted((job) => job.record.state === 'queued', of)
    let starting = 0
    for (const of of new Set(workers.flatMap(({ types }) => types))) {
      const isUncertain = limitsOf(of).some((limits) => limits?.rate ?? limits?.perKey ?? limits?.keyRate)
      if (this.paused.has(of) || (isUncertain && of !== type)) continue
      starting += Math.max(0, Math.min(queued(of), free(of)))
    }
    const isClosed = slots === 0 || this.paused.has(type)
    return isClosed ? -Infinity : Math.min(slots - starting, free(type) - queued(type))
  }

  protected insertOne(job: contract.NewJob): contract.InsertAnswer {
    const answer = (outcome: contract.InsertAnswer['outcome'], { record }: Job): contract.InsertAnswer => {
      const sameInput = outcome === 'duplicate' ? { sameInput: isDeepStrictEqual(record.input, job.input) } : {}
      return { outcome, id: record.id, state: record.state, seq: 0, at: 0, dueAt: record.dueAt, ...sameInput }
    }
    const same = this.find(job.id)
    if (same) return answer(same.record.type === job.type ? 'duplicate' : 'id-taken', same)
    const holder = job.key === null ? undefined : this.holder(job.type, job.key)
    const live = holder?.record.state !== 'cancelling'
    if (holder && live && job.onConflict === 'keep') return answer('duplicate', holder)
    const started = holder && !is('backlog', holder)
    if (holder && live && started && job.onConflict === 'replace') return answer('duplicate', holder)
    if (holder && live && !started && job.onConflict !== 'supersede') {
      Object.assign(holder.record, {
        input: job.input,
        tags: job.tags,
        meta: job.meta ?? {},
        version: job.version ?? null,
      })
      holder.steps = null
      this.forgetCheckpoints(holder)
      const dueAt = job.runAt ?? this.time + job.delayMs
      if (holder.record.state === 'scheduled' && dueAt > this.time) {
        if (holder.waits) holder.waits = { dueAt }
        else holder.record.dueAt = dueAt
      }
      return answer('replaced', holder)
    }
    const superseded = holder && job.onConflict === 'supersede' ? this.supersede(holder) : undefined
    if (holder) holder.holdsKey = false
    const added = this.add(job)
    const { seq, at } = this.log.at(-1) as Transition
    return { ...answer('inserted', added), seq, at, ...(superseded && { superseded }) }
  }

  /**
   * A claim with the limits per key that hold: those of the worker that has started last, for half a minute after its
   * last claim.
   */
  private withTerms(demand: contract.Demand, startedAt: number | undefined): contract.Demand {
    const { keyShares, limits, ...rest } = demand
    if (!this.jobs.some(({ record }) => record.type === demand.type) || this.paused.has(demand.type)) return demand
    const own = JSON.stringify([limits.perKey, limits.keyRate ?? null, keyShares ?? false])
    const held = this.terms.get(demand.type) ?? { text: '[null,null,false]', since: 0, at: -Infinity }
    const since = startedAt ?? 0
    const isKept = startedAt !== undefined && since < held.since && this.time - held.at < 30_000
    if (own === held.text) {
      const isNew = since > held.since || this.time - held.at >= 1_000
      if (this.terms.has(demand.type) && isNew)
        this.terms.set(demand.type, { ...held, since: Math.max(since, held.since), at: this.time })
    } else if (!isKept) this.terms.set(demand.type, { text: own, since, at: this.time })
    const [perKey, keyRate, shares] = JSON.parse(this.terms.get(demand.type)?.text ?? own) as [
      number | null,
      contract.RateLimit | null,
      boolean,
    ]
    const { concurrency, rate } = limits
    const settled = { concurrency, perKey, rate, ...(keyRate && { keyRate }) }
    return { ...rest, limits: settled, ...(shares && { keyShares: true }) }
  }

  claim({ worker, leaseMs, token, startedAt, demand }: contract.ClaimRequest): contract.ClaimAnswer {
    const jobs: contract.ClaimedJob[] = []
    const shortfalls: contract.Shortfall[] = []
    for (const asked of demand) {
      const { type, max, limits, maxAttempts, keyShares, onDead = null } = this.withTerms(asked, startedAt)
      const { concurrency, perKey, rate, keyRate } = limits
      for (let given = 0; ; given++) {
        const ofType = this.jobs.filter((job) => job.record.type === type)
        const running = ofType.filter((job) => is('leased', job))
        const queued = ofType.filter((job) => job.record.state === 'queued')
        const inOrder = queued.toSorted((a, b) => byPriority(a, b) || a.place - b.place)
        const open = (keyShares ? this.byShares(inOrder) : inOrder).filter(({ record: { concurrencyKey: key } }) => {
          const ofKey = running.filter((job) => job.record.concurrencyKey === key).length
          return key === null || perKey === null || ofKey < perKey
        })
        const next = open.find((job) => this.keyFreeAt(job, keyRate) <= this.time)
        const recent = this.claims.filter((claim) => claim.type === type && claim.at > this.time - (rate?.perMs ?? 0))
        const why = this.paused.has(type)
          ? 'paused'
          : queued.length === 0
            ? 'empty'
            : open.length === 0 || running.length >= (concurrency ?? Infinity)
              ? 'capped'
              : next === undefined || (rate && recent.length >= rate.limit)
                ? 'limited'
                : null
        if (given === max) break
        if (why !== null || next === undefined) {
          const spent = rate && recent.length >= rate.limit ? (recent.at(-rate.limit)?.at ?? 0) + rate.perMs : 0
          const until = Math.max(spent, Math.min(...open.map((job) => this.keyFreeAt(job, keyRate))))
          shortfalls.push({ type, reason: why ?? 'empty', ...(why === 'limited' && { until }) })
          break
        }
        if (rate || keyRate) this.claims.push({ type, key: next.record.concurrencyKey, at: this.time })
        if (keyShares) this.chargeKey(next)
        if (maxAttempts !== undefined && next.pins?.maxAttempts === undefined) {
          next.record.maxAttempts += maxAttempts - next.base
          next.base = maxAttempts
        }
        next.onDead = onDead
        jobs.push(this.claimOne(next, worker, token, leaseMs))
      }
    }
    return { jobs, shortfalls }
  }

  /** When the rate limit of a job's key allows its next claim; 0 = now. */
  private keyFreeAt({ record }: Job, rate: contract.RateLimit | undefined): number {
    const { type, concurrencyKey } = record
    if (rate === undefined || concurrencyKey === null) return 0
    const since = this.time - rate.perMs
    const recent = this.claims.filter(
      ({ at, ...claim }) => claim.type === type && claim.key === concurrencyKey && at > since,
    )
    return recent.length < rate.limit ? 0 : (recent.at(-rate.limit)?.at ?? 0) + rate.perMs
  }

  /** The first job of each key, ordered by the finish of the keys. */
  private byShares(inOrder: readonly Job[]): Job[] {
    const isFirst = (job: Job): boolean => inOrder.find((each) => this.keyOf(each) === this.keyOf(job)) === job
    return inOrder.filter(isFirst).toSorted((a, b) => this.finishOf(a) - this.finishOf(b))
  }

  private finishOf(job: Job): number {
    return (this.starts.get(this.keyOf(job)) ?? 0) + 1 / job.keyWeight
  }

  private chargeKey(job: Job): void {
    const finish = this.finishOf(job)
    const clock = Math.max(this.clocks.get(job.record.type) ?? 0, finish)
    this.clocks.set(job.record.type, clock)
    this.starts.set(this.keyOf(job), Math.max(finish, clock - 32 / job.keyWeight))
  }

  private claimOne(job: Job, worker: string, token: string, leaseMs: number): contract.ClaimedJob {
    const { record } = job
    Object.assign(job, { token, leaseUntil: this.time + leaseMs })
    Object.assign(record, { worker, startedAt: this.time })
    const { seq } = this.applyEvent(job, 'CLAIM')
    if (job.untilStart) job.holdsKey = false
    const { id, type, input, priority, concurrencyKey, attempt, maxAttempts, generation, checkpoint, inbox, version } =
      record
    const told = {
      id,
      type,
      input,
      priority,
      concurrencyKey,
      attempt,
      maxAttempts,
      generation,
      checkpoint,
      inbox,
      version,
    }
    const meta = Object.keys(record.meta).length === 0 ? null : record.meta
    const known = { ...told, meta, pins: job.pins, steps: job.steps }
    return structuredClone({ ...known, token, startedAt: this.time, seq }) as contract.ClaimedJob
  }

  confirm(leases: readonly contract.Lease[]): contract.Standing[] {
    return leases.map(({ id, attempt, token }) => {
      const job = this.leasedBy(id, attempt, token)
      if (!job) return { outcome: 'lost' }
      const { state, cancelReason: reason, type } = job.record
      if (state === 'cancelling') return { outcome: state, ...(reason !== null && { reason }) }
      return { outcome: this.paused.has(type) ? 'paused' : 'leased' }
    })
  }

  settle(settlements: readonly Settlement[]): contract.SettleAnswer[] {
    return settlements.map((settlement) => {
      const { id, attempt, token, event, to, fatal, reason, delayMs, error, output, checkin, logs } = settlement
      const job = this.leasedBy(id, attempt, token)
      if (!job) {
        const settled = this.find(id)?.settled
        if (settled?.token === token && settled.attempt === attempt) return settled.answer
        return { outcome: 'lost', seq: 0, at: 0, from: 'running', to, attempt, dueAt: null }
      }
      const { record } = job
      if (checkin) record.checkin = checkin
      if (logs) record.logs = capped([...record.logs, ...logs])
      if (error) this.keepError(job, error)
      else if (event === 'COMPLETE') record.error = null
      const listening = checkin && this.notifyParentOfCheckin(job, checkin.value)
      if (settlement.checkpoint) this.keepCheckpoint(job, settlement.checkpoint)
      if (settlement.cancelTaken === true && job.marked && record.state === 'running') {
        this.applyEvent(job, 'CANCEL', { reason: record.cancelReason })
      }
      const from = record.state
      const longer = Math.min(Math.round(250 * 1.5 ** (record.unsupported?.tries ?? 0)), 600_000)
      const delay = settlement.unsupported === undefined ? delayMs : longer
      const dueAt = event === 'PARK' && delay === undefined ? null : this.time + (delay ?? 0)
      const transition = this.applyEvent(job, event, { reason, fatal, dueAt, error })
      if (transition.to === 'done') record.output = output
      if (transition.to === 'done' && settlement.outcome !== undefined)
        this.outcomes.push({ type: record.type, outcome: settlement.outcome })
      if (event === 'COMPLETE') this.drop(job, record.inbox, 'done')
      else this.reportKept(job)
      const { seq, at } = transition
      const answer = {
        outcome: 'settled',
        seq,
        at,
        from,
        to: transition.to,
        attempt: record.attempt,
        dueAt: record.dueAt,
      } as const
      if (settlement.unsupported !== undefined) this.putOff(job, settlement.unsupported, reason ?? '', transition)
      else if (event !== 'RELEASE') record.unsupported = null
      job.gather = settlement.gather ?? null
      const woken = this.wake(job) ?? this.notifyParentOfEnd(job) ?? listening
      const successor = this.releaseSuccessor(job)
      const hook = this.callHook(job)
      const others = { ...(woken && { woken }), ...(successor && { successor }), ...(hook && { hook }) }
      job.settled = { token, attempt, answer: { ...answer, ...others } }
      return job.settled.answer
    })
  }

  extend({ worker, leaseMs, heartbeats }: contract.ExtendRequest): contract.HeartbeatAnswer[] {
    const seen = this.known.get(worker)
    if (seen) seen.seenAt = this.time
    return heartbeats.map(({ id, attempt, token, checkin, logs, steps, lastMessageNumber: messages }) => {
      const job = this.leasedBy(id, attempt, token)
      if (!job) return { outcome: 'lost' }
      job.leaseUntil = this.time + leaseMs
      if (checkin) job.record.checkin = checkin
      if (checkin) this.notifyParentOfCheckin(job, checkin.value)
      if (logs) job.record.logs = capped([...job.record.logs, ...logs])
      if (steps) job.steps = { ...job.steps, ...steps }
      const inbox = messages === undefined ? {} : { inbox: job.record.inbox.filter(({ number }) => number > messages) }
      return { outcome: 'extended', ...this.stopNotice(job), ...inbox }
    })
  }

  retry(
    ids: readonly string[],
    fromStart = false,
    dropInbox: contract.DropInbox = 0,
    edit?: contract.EditedInput,
  ): contract.RetryAnswer {
    const canRetry = (job: Job): boolean => job.record.state === 'dead' || job.record.state === 'cancelled'
    const { jobs, notFound } = this.findEach(ids)
    const [retried, refused]: [string[], string[]] = [[], []]
    const transitions: contract.WrittenTransition[] = []
    for (const job of jobs) {
      const { id, type, key } = job.record
      if (!canRetry(job) || (key !== null && this.holder(type, key)) || this.predecessor(type, key)) {
        refused.push(id)
        continue
      }
      job.marked = false
      if (fromStart || edit) this.forgetCheckpoints(job)
      if (edit) job.record.input = edit.input
      this.dropMessages(job, dropInbox)
      job.holdsKey = key !== null
      Object.assign(job.record, { output: undefined, error: null, cancelReason: null })
      if (job.record.checkpoint === null) job.steps = null
      transitions.push(this.applyEvent(job, 'RETRY'))
      retried.push(id)
    }
    return { retried, refused, notFound, transitions }
  }

  private dropMessages(job: Job, drop: contract.DropInbox): void {
    const { inbox, deferred } = job.record
    const unread = inbox.filter(({ number }) => !deferred.includes(number))
    const named = ({ number }: { readonly number: number }): boolean =>
      typeof drop !== 'number' && drop.includes(number)
    const first = unread.findIndex((entry) => !named(entry))
    const count = typeof drop === 'number' ? drop : first === -1 ? unread.length : first
    const gone = [
      ...inbox.filter((entry) => deferred.includes(entry.number) && named(entry)),
      ...unread.slice(0, count),
    ]
    this.drop(job, gone, 'request')
  }

  discard(jobIds: readonly string[]): contract.DiscardAnswer {
    const { jobs, notFound } = this.findEach(jobIds)
    const gone = jobs.filter((job) => is('ended', job))
    this.jobs = this.jobs.filter((job) => !gone.includes(job))
    const ids = (some: Job[]): string[] => some.map((job) => job.record.id)
    return { discarded: ids(gone), refused: ids(jobs.filter((job) => !gone.includes(job))), notFound }
  }

  promote(limit: number): contract.SweepAnswer {
    const waiting = (): Job[] =>
      this.jobs
        .filter((job) => job.record.dueAt !== null)
        .toSorted((a, b) => (a.record.dueAt ?? 0) - (b.record.dueAt ?? 0) || a.seq - b.seq)
    const due = waiting().filter((job) => (job.record.dueAt ?? 0) <= this.time)
    const transitions = due
      .slice(0, limit)
      .map((job) => this.applyEvent(job, job.record.state === 'waiting' ? 'WAKE' : 'DUE'))
    return { transitions, nextAt: waiting()[0]?.record.dueAt ?? null, more: transitions.length === limit }
  }

  rescue(limit: number): contract.SweepAnswer {
    const leased = (): Job[] =>
      this.jobs.filter((job) => is('leased', job)).toSorted((a, b) => a.leaseUntil - b.leaseUntil || a.seq - b.seq)
    const expired = leased().filter((job) => job.leaseUntil <= this.time)
    const taken = expired.slice(0, limit)
    const transitions = taken.flatMap((job): contract.WrittenTransition[] => {
      this.keepError(job, leaseExpired)
      const expiry = Object.assign({}, this.applyEvent(job, 'EXPIRE', { error: leaseExpired }), { error: leaseExpired })
      this.reportKept(job)
      return [expiry, this.notifyParentOfEnd(job), this.releaseSuccessor(job), this.callHook(job)].filter(
        (transition) => transition !== undefined,
      )
    })
    return { transitions, nextAt: leased()[0]?.leaseUntil ?? null, more: taken.length === limit }
  }

  retain({ types, others }: contract.RetentionPolicies): void {
    for (const [type, policy] of types) this.policies.set(type, policy)
    this.otherPolicy = others
  }

  prune(limit: number): contract.PruneAnswer {
    const endedIn = (job: Job): number => job.record.history.at(-1)?.seq ?? 0
    const goes = (job: Job, kept: number): number => {
      const policy = this.policies.get(job.record.type) ?? this.otherPolicy
      if (policy === null) return Infinity
      const { ageMs, count, minAgeMs = 0, countMax = Infinity } = policy[job.record.state as keyof typeof policy]
      const endedAt = job.record.finishedAt ?? 0
      return kept > countMax ? 0 : Math.min(endedAt + ageMs, kept > count ? endedAt + minAgeMs : Infinity)
    }
    for (let pruned = 0; ; pruned++) {
      const inOrder = this.jobs.filter((job) => is('ended', job)).toSorted((a, b) => endedIn(a) - endedIn(b))
      const goAt = inOrder.map((job, i) =>
        goes(
          job,
          inOrder
            .slice(i)
            .filter(({ record: { type, state } }) => type === job.record.type && state === job.record.state).length,
        ),
      )
      if (pruned === limit) return { pruned, nextAt: null, more: true }
      const gone = inOrder[goAt.findIndex((at) => at <= this.time)]
      const nextAt = Math.min(Infinity, ...goAt)
      if (gone === undefined) return { pruned, nextAt: nextAt === Infinity ? null : nextAt, more: false }
      this.jobs = this.jobs.filter((job) => job !== gone)
    }
  }

  get(ids: readonly string[]): (JobRecord | null)[] {
    return ids.map((id) => structuredClone(this.find(id)?.record ?? null))
  }

  /** All matching jobs in one page. */
  list(query: contract.ListQuery): Partial<JobRecord>[] {
    const { order = 'oldest', orderBy = 'enqueued', fields, ...filter } = query
    const isListed = {
      enqueued: () => true,
      finished: (job: Job) => is('ended', job),
      due: ({ record }: Job) => record.dueAt !== null,
    }[orderBy]
    const place = ({ seq, record }: Job): number =>
      ({ enqueued: seq, finished: record.history.at(-1)?.seq ?? 0, due: record.dueAt ?? 0 })[orderBy]
    const found = this.jobs
      .filter((job) => this.matches(job, filter) && isListed(job))
      .toSorted((a, b) => (place(a) - place(b) || a.seq - b.seq) * (order === 'oldest' ? 1 : -1))
    return found.map(({ record }) => {
      const shown = Object.entries(record).filter(([field]) => fields?.includes(field as keyof JobRecord) !== false)
      return structuredClone(Object.fromEntries(shown))
    })
  }

  counts(type?: string): contract.StateCounts {
    const count = (state: JobState): number => this.list({ state, ...(type !== undefined && { type }) }).length
    return Object.fromEntries(jobStates.map((state) => [state, count(state)])) as unknown as contract.StateCounts
  }

  queue(type: string, change?: contract.QueueChange): contract.QueueInfo {
    if (change?.paused === true) this.paused.add(type)
    if (change?.paused === false) this.paused.delete(type)
    return { type, paused: this.paused.has(type), counts: this.counts(type) }
  }

  worker(id: string, info: contract.WorkerInfo | null): void {
    if (info === null) this.known.delete(id)
    else this.known.set(id, { info, seenAt: this.time })
  }

  workers(): contract.WorkerRecord[] {
    const silent = (seenAt: number): number => this.time - seenAt
    const leaseOf = ({ leaseMs }: contract.WorkerInfo): number => leaseMs ?? 30_000
    const listed = [...this.known.values()].filter(({ info, seenAt }) => silent(seenAt) < leaseOf(info) + 600_000)
    return listed.map(({ info, seenAt }) => {
      const held = this.jobs.filter((job) => is('leased', job) && job.record.worker === info.id)
      const running = held.map(({ record: { id, type, attempt, startedAt, checkin } }) => {
        return { id, type, attempt, since: startedAt ?? 0, checkin }
      })
      return { ...info, seenAt, lost: silent(seenAt) >= leaseOf(info), running }
    })
  }

  transitions(): readonly Transition[] {
    return this.log
  }
}

/** The last lines within the caps on number and size. */
function capped(logs: readonly LogLine[]): readonly LogLine[] {
  const bytes = logs.reduce((sum, line) => sum + byteLength(JSON.stringify(line)), 0)
  return logs.length <= caps.logs && bytes <= caps.logBytes ? logs : capped(logs.slice(1))
}
