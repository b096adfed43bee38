/** What a history and the final state of a store say of each job, put side by side. Gathers; judges nothing. */
import type { HistoryEntry, JobRecord, Transition } from '../../job/job.ts'
import { isEnded } from '../../job/lifecycle.ts'
import type { Counts, SettleAnswer } from '../../store.ts'
import { callsOf, type AskedJob, type CallOf, type HistoryCall, type HistoryLine } from './lines.ts'

/** The final state of a store, when everything has come to rest. */
export interface FinalState {
  /** Every job that is there. */
  readonly records: readonly JobRecord[]
  readonly counts: Counts
  /** The transition log, as far as it is kept. */
  readonly transitions?: readonly Transition[]
  /** Store time at which it was read. */
  readonly at: number
}

/** What somebody tells of a job. */
type Telling = Pick<HistoryEntry, 'seq' | 'at' | 'event' | 'from' | 'to' | 'attempt' | 'reason'>

/** A move of a job, and who tells of it. */
export interface Step extends Telling {
  readonly event: Exclude<HistoryEntry['event'], 'CHECKPOINT'>
  /** When it was first acknowledged to a caller: it was written by then, and not before `at`. Infinity: never. */
  knownBy: number
  recorded: boolean
  logged: boolean
}

/** An attempt of which the claim was answered. */
export interface Attempt {
  readonly token: string
  readonly attempt: number
  readonly generation: number
  readonly seq: number
  readonly worker: string
  readonly claimedAt: number
  /** When its lease was last known to be granted: its claim, or an extension that was accepted. */
  grantedAt: number
  /** The lease lasts until then at least, … */
  heldUntil: number
  /** … and until then at most, with what nobody knows the answer of. */
  heldUntilMost: number
}

/** A write of a worker in the name of an attempt. */
export interface Write {
  readonly kind: 'settle' | 'extend'
  readonly token: string
  readonly attempt: number
  readonly accepted: boolean
  readonly invokedAt: number
  readonly answeredAt: number
  /** Of an accepted settle. */
  readonly answer: SettleAnswer | null
}

export interface RunFact {
  readonly seq: number | null
  readonly attempt: number
  readonly generation: number
  readonly startedAt: number
  /** null: it is not known to have ended. */
  readonly endedAt: number | null
}

/** One insert of a job, as it was answered. */
export interface InsertFact {
  readonly asked: AskedJob
  /** `refused`: nothing was stored · `unknown`: it may have been. */
  readonly outcome: 'inserted' | 'found' | 'refused' | 'unknown'
  /** The job that is there instead, or itself. */
  readonly holder: string
  readonly invokedAt: number
  readonly answeredAt: number
}

export interface CancelFact {
  readonly invokedAt: number
  readonly answeredAt: number
  /** seq of its move; null if the mark was set before. */
  readonly seq: number | null
}

export interface JobFacts {
  readonly id: string
  readonly inserts: InsertFact[]
  /** By seq, once all is gathered. */
  steps: Step[]
  readonly attempts: Map<string, Attempt>
  readonly writes: Write[]
  readonly runs: RunFact[]
  readonly cancels: CancelFact[]
  record: JobRecord | null
  discarded: boolean
}

export interface Contradiction {
  readonly id: string
  readonly ways: readonly [string, string]
}

export class Facts {
  readonly jobs = new Map<string, JobFacts>()
  readonly pauses: CallOf<'queue'>[] = []
  readonly prunes: CallOf<'prune'>[] = []
  readonly figures = { calls: 0, unknown: 0, runs: 0, lostSettles: 0 }
  /** Jobs that may have been removed without a trace, at most. */
  removable = 0
  /** Moves that two tell differently. */
  readonly contradictions: Contradiction[] = []
  /** Jobs that the store lists more than once. */
  readonly twice: string[] = []
  private readonly bySeq = new Map<string, Map<number, Step>>()

  constructor(lines: Iterable<HistoryLine>, final: FinalState) {
    for (const call of callsOf(lines)) this.take(call)
    for (const record of final.records) this.takeRecord(record)
    for (const entry of final.transitions ?? []) this.step(entry.id, entry, 'logged')
    for (const [id, steps] of this.bySeq) this.job(id).steps = [...steps.values()].toSorted((a, b) => a.seq - b.seq)
    this.bySeq.clear()
  }

  private job(id: string): JobFacts {
    let facts = this.jobs.get(id)
    if (facts === undefined) {
      const many = { inserts: [], steps: [], writes: [], runs: [], cancels: [] }
      facts = { id, ...many, attempts: new Map(), record: null, discarded: false }
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
      case 'queue':
        return void this.pauses.push(call)
      case 'retry':
        return this.takeMoves(call.answer?.moves, call.answeredAt)
      case 'promote':
      case 'rescue':
        return this.takeMoves(call.answer, call.answeredAt)
      case 'discard':
        for (const id of call.answer?.discarded ?? []) this.job(id).discarded = true
        if (call.outcome === 'unknown' && 'ids' in call.asked) {
          for (const id of call.asked.ids) this.job(id).discarded = true
        } else if (call.outcome === 'unknown') this.removable = Infinity
        return
      case 'prune':
        this.removable += call.answer?.pruned ?? (call.outcome === 'unknown' ? call.asked.limit : 0)
        return void this.prunes.push(call)
      case 'run':
        return this.takeRun(call)
    }
  }

  private takeInsert({ asked, answer, outcome, invokedAt, answeredAt }: CallOf<'insert'>): void {
    asked.forEach((jobs, r) => {
      jobs.forEach((job, i) => {
        const answered = answer?.[r]?.[i]
        const end = answeredAt ?? Infinity
        const fact = (became: InsertFact['outcome'], holder: string): void =>
          void this.job(job.id).inserts.push({ asked: job, outcome: became, holder, invokedAt, answeredAt: end })
        if (answered === undefined) return fact(outcome === 'unknown' ? 'unknown' : 'refused', job.id)
        if (answered.outcome === 'full' || answered.outcome === 'id-taken') return fact('refused', job.id)
        if (answered.outcome !== 'inserted') return fact('found', answered.id)
        fact('inserted', answered.id)
        const { seq, at, state: to } = answered
        this.step(job.id, { seq, at, event: 'ENQUEUE', from: null, to, attempt: 0 }, end)
        if (answered.superseded !== undefined) this.step(answered.superseded.id, answered.superseded, end)
      })
    })
  }

  private takeClaim({ asked: { token, worker, leaseMs }, answer, answeredAt }: CallOf<'claim'>): void {
    for (const { id, attempt, generation, seq, startedAt } of answer ?? []) {
      const heldUntil = startedAt + leaseMs
      const facts = { token, attempt, generation, seq, worker, claimedAt: startedAt, grantedAt: startedAt }
      this.job(id).attempts.set(token, { ...facts, heldUntil, heldUntilMost: heldUntil })
      this.step(id, { seq, at: startedAt, event: 'CLAIM', from: 'queued', to: 'running', attempt }, answeredAt)
    }
  }

  private takeSettle({ asked, answer, invokedAt, answeredAt }: CallOf<'settle'>): void {
    asked.forEach(({ id, token, attempt, event }, i) => {
      const answered = answer?.[i]
      if (answered === undefined) return
      const accepted = answered.outcome === 'settled'
      const told = { kind: 'settle', token, attempt, accepted, invokedAt, answeredAt: answeredAt ?? Infinity } as const
      this.job(id).writes.push({ ...told, answer: accepted ? answered : null })
      if (!accepted) return void this.figures.lostSettles++
      const { seq, at, from, to } = answered
      this.step(id, { seq, at, event, from, to, attempt: answered.attempt }, answeredAt)
    })
  }

  private takeExtend({ asked: { leaseMs, beats }, answer, invokedAt, answeredAt }: CallOf<'extend'>): void {
    beats.forEach(({ id, token, attempt }, i) => {
      const outcome = answer?.[i]
      const accepted = outcome !== 'lost'
      const job = this.job(id)
      const held = job.attempts.get(token)
      if (accepted && held !== undefined) {
        held.heldUntilMost = Math.max(held.heldUntilMost, (answeredAt ?? invokedAt) + leaseMs)
      }
      if (outcome === undefined) return
      const told = { kind: 'extend', token, attempt, accepted, invokedAt, answeredAt: answeredAt ?? Infinity } as const
      job.writes.push({ ...told, answer: null })
      if (!accepted || held === undefined || invokedAt < held.grantedAt) return
      held.grantedAt = invokedAt
      held.heldUntil = invokedAt + leaseMs
    })
  }

  private takeCancel({ answer, invokedAt, answeredAt }: CallOf<'cancel'>): void {
    for (const { cancelled, cancelling, moves } of answer ?? []) {
      this.takeMoves(moves, answeredAt)
      const seqs = new Map(moves.map(({ id, seq }) => [id, seq]))
      for (const id of [...cancelled, ...cancelling]) {
        this.job(id).cancels.push({ invokedAt, answeredAt: answeredAt ?? Infinity, seq: seqs.get(id) ?? null })
      }
    }
  }

  private takeMoves(moves: readonly Transition[] | null | undefined, answeredAt: number | null): void {
    for (const move of moves ?? []) this.step(move.id, move, answeredAt)
  }

  private takeRun({ asked: { id, seq, attempt, generation }, invokedAt, answeredAt }: CallOf<'run'>): void {
    this.figures.runs++
    this.job(id).runs.push({ seq, attempt, generation, startedAt: invokedAt, endedAt: answeredAt })
  }

  private takeRecord(record: JobRecord): void {
    const job = this.job(record.id)
    if (job.record !== null) this.twice.push(record.id)
    job.record = record
    for (const entry of record.history) this.step(record.id, entry, 'recorded')
  }

  /** @param by who tells: a call that was answered at a time, a record, or the log */
  private step(id: string, told: Telling, by: number | null | 'recorded' | 'logged'): void {
    const { seq, at, event, from, to, attempt, reason } = told
    // The log tells of checkpoints, too: they move nothing.
    if (event === 'CHECKPOINT') return
    this.job(id)
    let steps = this.bySeq.get(id)
    if (steps === undefined) this.bySeq.set(id, (steps = new Map<number, Step>()))
    let known = steps.get(seq)
    if (known === undefined) {
      const said = { seq, at, event, from, to, attempt, ...(reason !== undefined && { reason }) }
      steps.set(seq, (known = { ...said, knownBy: Infinity, recorded: false, logged: false }))
    } else if (wording(known) !== wording(told)) {
      this.contradictions.push({ id, ways: [wording(known), wording(told)] })
    }
    if (typeof by === 'string') known[by] = true
    else known.knownBy = Math.min(known.knownBy, by ?? Infinity)
  }
}

/** What all who tell of a move must agree on. */
export const wording = ({ seq, at, event, from, to, attempt }: Telling): string =>
  `${seq} ${event} ${from ?? '·'} → ${to}, attempt ${attempt}, at ${at}`

/** Are the steps of a job known from its enqueue on, without a gap, to its record or its end? */
export function isWhole({ steps, record }: JobFacts): boolean {
  if (steps[0]?.event !== 'ENQUEUE') return false
  if (record !== null) return record.history[0]?.event === 'ENQUEUE'
  const last = steps.at(-1)
  return steps.every((step, i) => i === 0 || step.from === steps[i - 1]?.to) && last !== undefined && isEnded(last.to)
}
