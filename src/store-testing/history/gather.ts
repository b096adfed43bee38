/** Collects the facts of each job from a history and the final state of a store. It checks nothing. */
import type { JobRecord, Transition } from '../../core/record.ts'
import {
  machineOf,
  wording,
  type CheckpointFact,
  type Contradiction,
  type FinalState,
  type InsertFact,
  type JobFacts,
  type Step,
  type Telling,
} from './facts.ts'
import { isLost, jobsOfCalls, type Loss } from './losses.ts'
import {
  callsOf,
  type AskedCheckpoint,
  type AskedJob,
  type CallOf,
  type HistoryCall,
  type HistoryLine,
} from './lines.ts'

export class Facts {
  readonly jobs = new Map<string, JobFacts>()
  /** By type: the values of `maxAttempts` in claims. */
  readonly allowed = new Map<string, Set<number>>()
  /** Types of the jobs that run hooks, whether or not the claims that named them were answered. */
  readonly hookTypes = new Set<string>()
  /** The tokens of claims without an answer. */
  readonly unansweredClaims = new Set<string>()
  readonly pauses: CallOf<'queue'>[] = []
  readonly prunes: CallOf<'prune'>[] = []
  readonly retains: CallOf<'retain'>[] = []
  readonly figures = { calls: 0, unknown: 0, runs: 0, steps: 0, lostSettles: 0, leftOut: 0 }
  /** How many jobs retention may have removed at most. */
  removable = 0
  /** Transitions that two sources report differently. */
  readonly contradictions: Contradiction[] = []
  /** Jobs that the store lists more than once. */
  readonly twice: string[] = []
  /** Is there a retry from the start with an unknown result? */
  mayHaveRestarted = false
  /** Type and unique key of inserts with an unknown result that may have replaced the input of a job. */
  private readonly mayHaveReplaced = new Set<string>()
  private readonly bySeq = new Map<string, Map<number, Step>>()

  /** @param losses times in which writes were lost: the jobs of calls in them are left out */
  constructor(lines: Iterable<HistoryLine>, final: FinalState, losses: readonly Loss[] = []) {
    const lost: HistoryCall[] = []
    for (const call of callsOf(lines)) {
      this.take(call)
      if (isLost(losses, call)) lost.push(call)
    }
    for (const record of final.records) this.takeRecord(record)
    for (const job of this.jobs.values()) {
      if (job.inserts.some(({ asked }) => this.mayHaveReplaced.has(keyNameOf(asked)))) machineOf(job).replaced = true
    }
    for (const entry of final.transitions ?? []) this.step(entry.id, entry, 'logged')
    for (const [id, steps] of this.bySeq) this.job(id).steps = [...steps.values()].toSorted((a, b) => a.seq - b.seq)
    this.bySeq.clear()
    this.leaveOut(lost)
  }

  private leaveOut(lost: readonly HistoryCall[]): void {
    if (lost.length === 0) return
    const ids = jobsOfCalls(this.jobs, lost)
    for (const id of ids) this.jobs.delete(id)
    this.figures.leftOut = ids.size
    keepOnly(this.contradictions, ({ id }) => !ids.has(id))
    // A pause may be gone; a resume that is gone lets nothing start.
    keepOnly(this.pauses, (call) => !call.asked.paused || !lost.includes(call))
  }

  private job(id: string): JobFacts {
    let facts = this.jobs.get(id)
    if (facts === undefined) {
      const many = { inserts: [], steps: [], writes: [], runs: [], cancels: [], stepsBegun: [], stepsStored: [] }
      facts = { id, ...many, attempts: new Map(), machine: null, record: null, discarded: false }
      this.jobs.set(id, facts)
    }
    return facts
  }

  private take(call: HistoryCall): void {
    this.figures.calls++
    if (call.outcome === 'unknown') this.figures.unknown++
    switch (call.op) {
      case 'insert':
        return this.takeInsert(call)
      case 'claim':
        return this.takeClaim(call)
      case 'settle':
        return this.takeSettle(call)
      case 'extend':
        return this.takeExtend(call)
      case 'cancel':
        return this.takeCancel(call)
      case 'send':
        return this.takeSend(call)
      case 'checkpoint':
        return this.takeCheckpoint(call)
      case 'queue':
        return void this.pauses.push(call)
      case 'retry':
        return this.takeRetry(call)
      case 'bulk':
        return this.takeBulk(call)
      case 'promote':
      case 'rescue':
        return this.takeTransitions(call.answer, call.answeredAt)
      case 'discard':
        for (const id of call.answer?.discarded ?? []) this.job(id).discarded = true
        if (call.outcome === 'unknown' && 'ids' in call.asked) {
          for (const id of call.asked.ids) this.job(id).discarded = true
        } else if (call.outcome === 'unknown') this.removable = Infinity
        return
      case 'retain':
        return void this.retains.push(call)
      case 'prune':
        this.removable += call.answer?.pruned ?? (call.outcome === 'unknown' ? call.asked.limit : 0)
        return void this.prunes.push(call)
      case 'run':
        return this.takeRun(call)
      case 'step':
        return this.takeStep(call)
    }
  }

  private takeInsert({ asked, answer, outcome, invokedAt, answeredAt }: CallOf<'insert'>): void {
    asked.forEach((jobs, r) => {
      jobs.forEach((job, i) => {
        const answered = answer?.[r]?.[i]
        const end = answeredAt ?? Infinity
        const fact = (became: InsertFact['outcome'], holder: string): void =>
          void this.job(job.id).inserts.push({ asked: job, outcome: became, holder, invokedAt, answeredAt: end })
        if (answered === undefined) {
          const isUnknown = outcome === 'unknown'
          if (isUnknown && job.key !== null && job.onConflict === 'replace') this.mayHaveReplaced.add(keyNameOf(job))
          return fact(isUnknown ? 'unknown' : 'refused', job.id)
        }
        if (answered.outcome === 'full' || answered.outcome === 'id-taken') return fact('refused', job.id)
        if (answered.outcome === 'replaced') machineOf(this.job(answered.id)).replaced = true
        if (answered.outcome !== 'inserted') return fact('found', answered.id)
        fact('inserted', answered.id)
        const { seq, at, state: to } = answered
        this.step(job.id, { seq, at, event: 'ENQUEUE', from: null, to, attempt: 0 }, end)
        if (answered.superseded !== undefined) this.step(answered.superseded.id, answered.superseded, end)
      })
    })
  }

  private takeClaim({ asked, answer, outcome, invokedAt: askedAt, answeredAt }: CallOf<'claim'>): void {
    const { token, worker, leaseMs, maxAttempts = {}, onDead = {} } = asked
    if (outcome === 'unknown') this.unansweredClaims.add(token)
    for (const type of Object.values(onDead)) this.hookTypes.add(type)
    for (const [type, allowed] of Object.entries(maxAttempts)) {
      const ofType = this.allowed.get(type)
      if (ofType === undefined) this.allowed.set(type, new Set([allowed]))
      else ofType.add(allowed)
    }
    for (const { id, type, attempt, generation, seq, startedAt, checkpoint = 0, inbox = [] } of answer ?? []) {
      const heldUntil = startedAt + leaseMs
      const times = { askedAt, claimedAt: startedAt, grantedAt: startedAt }
      const said = { allowed: maxAttempts[type] ?? null, onDead: onDead[type] ?? null }
      const facts = { token, attempt, generation, seq, worker, ...said, ...times }
      const last = inbox.at(-1) ?? 0
      const machine = { checkpoint, inbox, shown: last, given: last }
      const job = this.job(id)
      job.attempts.set(token, { ...facts, heldUntil, heldUntilMost: heldUntil, ...machine })
      if (checkpoint > 0 || inbox.length > 0) machineOf(job)
      this.step(id, { seq, at: startedAt, event: 'CLAIM', from: 'queued', to: 'running', attempt }, answeredAt)
    }
  }

  private takeSettle({ asked, answer, outcome, invokedAt, answeredAt }: CallOf<'settle'>): void {
    asked.forEach(({ id, token, attempt, event, checkpoint, cancelTaken = false, unsupported }, i) => {
      const answered = answer?.[i]
      if (checkpoint !== undefined && outcome !== 'fail') {
        const became = answered === undefined ? 'unknown' : answered.outcome === 'lost' ? 'lost' : 'kept'
        this.checkpoint(this.job(id), { token, ...checkpoint, outcome: became, inbox: null })
      }
      if (answered === undefined) return
      const accepted = answered.outcome === 'settled'
      const told = { kind: 'settle', token, attempt, accepted, invokedAt, answeredAt: answeredAt ?? Infinity } as const
      this.job(id).writes.push({ ...told, cancelTaken, answer: accepted ? answered : null })
      if (!accepted) return void this.figures.lostSettles++
      const { seq, at, from, to } = answered
      const step = this.step(id, { seq, at, event, from, to, attempt: answered.attempt }, answeredAt)
      if (step !== null && unsupported === true) step.unsupported = true
      for (const transition of [answered.woken, answered.successor, answered.hook]) {
        if (transition !== undefined) this.step(transition.id, transition, answeredAt)
      }
    })
  }

  private takeExtend({ asked: { leaseMs, heartbeats }, answer, invokedAt, answeredAt }: CallOf<'extend'>): void {
    heartbeats.forEach(({ id, token, attempt, steps = [] }, i) => {
      const outcome = answer?.[i]?.outcome
      const accepted = outcome !== 'lost'
      const job = this.job(id)
      const held = job.attempts.get(token)
      if (held !== undefined) held.given = Math.max(held.given, answer?.[i]?.inbox?.at(-1) ?? 0)
      if (accepted && held !== undefined) {
        held.heldUntilMost = Math.max(held.heldUntilMost, (answeredAt ?? invokedAt) + leaseMs)
      }
      if (outcome === undefined) return
      const storedBy = answeredAt ?? Infinity
      if (accepted) for (const name of steps) job.stepsStored.push({ name, token, storedBy })
      const told = { kind: 'extend', token, attempt, accepted, invokedAt, answeredAt: answeredAt ?? Infinity } as const
      job.writes.push({ ...told, answer: null })
      if (!accepted || held === undefined || invokedAt < held.grantedAt) return
      held.grantedAt = invokedAt
      held.heldUntil = invokedAt + leaseMs
    })
  }

  private takeCancel({ answer, invokedAt, answeredAt }: CallOf<'cancel'>): void {
    for (const { cancelled, cancelling, transitions } of answer ?? []) {
      this.takeTransitions(transitions, answeredAt)
      const seqs = new Map(transitions.filter(({ event }) => event === 'CANCEL').map(({ id, seq }) => [id, seq]))
      // Jobs that were cancelled with their parents are reported only as transitions.
      for (const id of new Set([...cancelled, ...cancelling, ...seqs.keys()])) {
        this.job(id).cancels.push({ invokedAt, answeredAt: answeredAt ?? Infinity, seq: seqs.get(id) ?? null })
      }
    }
  }

  private takeCheckpoint({ asked, answer, outcome, invokedAt, answeredAt }: CallOf<'checkpoint'>): void {
    if (outcome === 'fail') return
    asked.forEach(({ id, token, attempt, checkpoint }, i) => {
      const answered = answer?.[i]
      const job = this.job(id)
      const accepted = answered !== undefined && answered.outcome !== 'lost'
      const became = answered === undefined ? 'unknown' : accepted ? 'kept' : 'lost'
      this.checkpoint(job, { token, ...checkpoint, outcome: became, inbox: accepted ? answered.inbox : null })
      if (answered === undefined) return
      const at = { invokedAt, answeredAt: answeredAt ?? Infinity }
      job.writes.push({ kind: 'checkpoint', token, attempt, accepted, ...at, answer: null })
      const held = job.attempts.get(token)
      if (!accepted || held === undefined) return
      held.shown = Math.max(held.shown, answered.inbox.at(-1) ?? 0)
      held.given = Math.max(held.given, held.shown)
    })
  }

  private checkpoint(job: JobFacts, { takesCancel, ...fact }: CheckpointFact & AskedCheckpoint): void {
    const machine = machineOf(job)
    machine.checkpoints.push(fact)
    if (takesCancel && fact.outcome !== 'lost') machine.takesCancel = true
  }

  private takeSend({ asked, answer, outcome, answeredAt }: CallOf<'send'>): void {
    if (outcome === 'fail') return
    asked.forEach(({ id, key }, i) => {
      const answered = answer?.[i]
      if (answered?.outcome === 'notFound') return
      const fact = { key, outcome: answered?.outcome ?? 'unknown', answeredAt: answeredAt ?? Infinity } as const
      machineOf(this.job(id)).messages.push(fact)
      this.takeTransitions(answered?.transition && [answered.transition], answeredAt)
    })
  }

  private takeRetry({ asked, answer, outcome, answeredAt }: CallOf<'retry'>): void {
    this.takeTransitions(answer?.transitions, answeredAt)
    if (asked.fromStart !== true) return
    if (outcome === 'unknown') this.mayHaveRestarted = true
    for (const { id, seq } of answer?.transitions ?? []) machineOf(this.job(id)).restarts.push(seq)
  }

  /** What a batch has done is what the call of its change would have done. */
  private takeBulk({ answer, outcome, ...call }: CallOf<'bulk'>): void {
    // A batch without an answer may have discarded jobs, or have begun machines anew.
    if (outcome === 'unknown') {
      this.removable = Infinity
      this.mayHaveRestarted = true
    }
    const change = answer?.operation?.change
    if (answer === null || change === undefined) return
    const { transitions, jobs } = answer
    const { retried = [], refused = [], discarded = [], cancelled = [], cancelling = [] } = jobs
    const told = { ...call, outcome }
    if (change.kind === 'retry') {
      const asked = { ids: retried, ...(change.fromStart && { fromStart: true as const }) }
      this.takeRetry({ ...told, op: 'retry', asked, answer: { retried, refused, notFound: [], transitions } })
    } else if (change.kind === 'cancel') {
      const given = { cancelled, cancelling, notFound: [], finished: [], transitions }
      this.takeCancel({ ...told, op: 'cancel', asked: [], answer: [given] })
    } else for (const id of discarded) this.job(id).discarded = true
  }

  private takeTransitions(transitions: readonly Transition[] | null | undefined, answeredAt: number | null): void {
    for (const transition of transitions ?? []) this.step(transition.id, transition, answeredAt)
  }

  private takeRun({ asked: { id, seq, attempt, generation }, invokedAt, answeredAt }: CallOf<'run'>): void {
    this.figures.runs++
    this.job(id).runs.push({ seq, attempt, generation, startedAt: invokedAt, endedAt: answeredAt })
  }

  private takeStep({ asked: { id, ...step }, invokedAt: begunAt }: CallOf<'step'>): void {
    this.figures.steps++
    this.job(id).stepsBegun.push({ ...step, begunAt })
  }

  private takeRecord(record: JobRecord): void {
    const job = this.job(record.id)
    if (job.record !== null) this.twice.push(record.id)
    job.record = record
    for (const entry of record.history) this.step(record.id, entry, 'recorded')
  }

  /** @param by the source: a call that was answered at a time, a record, or the log */
  private step(id: string, told: Telling, by: number | null | 'recorded' | 'logged'): Step | null {
    const { seq, at, event, from, to, attempt, reason } = told
    const job = this.job(id)
    // The log also has checkpoints, which leave the state as it is.
    if (event === 'CHECKPOINT') {
      machineOf(job).logged.push({ seq, attempt })
      return null
    }
    let steps = this.bySeq.get(id)
    if (steps === undefined) this.bySeq.set(id, (steps = new Map<number, Step>()))
    let known = steps.get(seq)
    if (known === undefined) {
      const said = { seq, at, event, from, to, attempt, ...(reason !== undefined && { reason }) }
      steps.set(seq, (known = { ...said, knownBy: Infinity, recorded: false, logged: false, unsupported: false }))
    } else if (wording(known) !== wording(told)) {
      this.contradictions.push({ id, ways: [wording(known), wording(told)] })
    }
    if (event === 'SNOOZE' && reason !== undefined) known.unsupported = true
    if (typeof by === 'string') known[by] = true
    else known.knownBy = Math.min(known.knownBy, by ?? Infinity)
    return known
  }
}

function keepOnly<T>(list: T[], isKept: (item: T) => boolean): void {
  list.splice(0, list.length, ...list.filter(isKept))
}

const keyNameOf = ({ type, key }: Pick<AskedJob, 'type' | 'key'>): string => JSON.stringify([type, key])
