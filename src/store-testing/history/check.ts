/**
 * Checks what a store promises against what was seen of it: the histories of all processes that used it, and its final
 * state. It knows nothing of how a store works. What it can prove:
 *
 *   I1–I8, I10–I13, late, caps, steps and hooks, as `invariants` names them. I9 (one job per tick) is checked by `npm run storm:schedules`.
 */
import type { JobRecord, Transition } from '../../core/record.ts'
import type { Store, TypeLimits, TransitionPage } from '../../store.ts'
import type { FinalState } from './facts.ts'
import { Facts } from './gather.ts'
import { checkHooks } from './hooks.ts'
import { checkKeys } from './keys.ts'
import { checkCaps, checkLeases } from './leases.ts'
import type { HistoryLine } from './lines.ts'
import { checkLives } from './lives.ts'
import { checkMachines } from './machines.ts'
import { checkStarts } from './starts.ts'
import { checkCounts, checkDrained, checkPauses, checkRetention } from './totals.ts'
import { Findings, type Invariant, type Violation } from './violation.ts'

export interface CheckHistoryOptions {
  /** The store in the end; see `finalState`. */
  readonly final: FinalState
  /** Of types that are limited; the same in all processes, all the time. */
  readonly limits?: Readonly<Record<string, TypeLimits>>
  /** How long, ms, a lease that has run out may wait until it is taken back; default: not checked. */
  readonly rescueMs?: number
  /**
   * How long, ms, after the answer to a cancel or a pause a handler may still start, and after the end of a lease the work of a
   * step may still begin: the window of the store, and what a busy machine adds to it. Default: not checked.
   */
  readonly startMs?: number
  /** Must every job have ended? Default true. */
  readonly drained?: boolean
}

export interface HistoryVerdict {
  /** Broken promises with what proves them, 20 of each invariant at most. */
  readonly violations: readonly Violation[]
  /** All of them, counted. */
  readonly counts: Readonly<Partial<Record<Invariant, number>>>
  readonly figures: HistoryFigures
}

/** How much there was to check: a quiet history proves little. */
export interface HistoryFigures {
  readonly calls: number
  /** Calls of which nobody knows what became. */
  readonly unknown: number
  /** Jobs that were stored. */
  readonly jobs: number
  /** Claims in the records, answered or not. */
  readonly attempts: number
  /** Runs that handlers began. */
  readonly runs: number
  /** Steps whose work handlers began. */
  readonly steps: number
  /** Leases that were taken back from whoever held them. */
  readonly rescues: number
  /** Settles that were refused because their lease was lost. */
  readonly lostSettles: number
}

/**
 * Checks histories against the promises of the store contract.
 * @param lines of all processes, in any order but the one within a call; see `readHistory`
 * @throws TypeError if the lines are no history
 * @example
 * const { violations } = checkHistory(readHistory(folder), { final: await finalState(store) })
 * expect(violations).toEqual([])
 */
export function checkHistory(lines: Iterable<HistoryLine>, options: CheckHistoryOptions): HistoryVerdict {
  const { final, limits = {}, rescueMs = null, startMs = null, drained = true } = options
  const facts = new Facts(lines, final)
  const findings = new Findings()
  checkLives(facts, findings)
  checkLeases(facts, rescueMs, findings)
  checkCaps(facts, limits, findings)
  checkKeys(facts, findings)
  checkHooks(facts, findings)
  checkMachines(facts, findings)
  checkPauses(facts, findings)
  checkStarts(facts, startMs, findings)
  if (drained) checkDrained(final, findings)
  checkCounts(facts, final, findings)
  checkRetention(facts, final, findings)
  const { violations, counts } = findings
  return { violations, counts, figures: figuresOf(facts) }
}

function figuresOf({ jobs, figures: { calls, unknown, runs, steps: stepsBegun, lostSettles } }: Facts): HistoryFigures {
  let attempts = 0
  let rescues = 0
  let there = 0
  for (const { steps } of jobs.values()) {
    if (steps.length > 0) there++
    for (const { event } of steps) {
      if (event === 'CLAIM') attempts++
      else if (event === 'EXPIRE') rescues++
    }
  }
  return { calls, unknown, jobs: there, attempts, runs, steps: stepsBegun, rescues, lostSettles }
}

/**
 * Reads everything that `checkHistory` wants to know of a store in the end. Nothing may be under way.
 * @param store opened, by whoever looks at it last
 */
export async function finalState(store: Store): Promise<FinalState> {
  const records: JobRecord[] = []
  for (let after: string | undefined; ;) {
    const page = await store.list({ limit: 1_000, ...(after !== undefined && { after }) })
    records.push(...page)
    if (page.next === undefined) break
    after = page.next
  }
  const transitions: Transition[] = []
  for (let from: string | null = null; ;) {
    const page: TransitionPage = await store.transitions(from, 1_000)
    if (page.transitions.length === 0) break
    transitions.push(...page.transitions)
    from = page.next
  }
  return { records, transitions, counts: await store.counts(), at: store.now() }
}
