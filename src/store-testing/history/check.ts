/**
 * Checks the guarantees of a store against the histories of all processes that used it, and its final state. It does
 * not depend on how a store works. It checks:
 *
 *   I1–I8, I10–I13, late, caps, steps and hooks, as `invariants` names them. I9 (one job per tick) is checked by `npm
 *   run storm:schedules`.
 */
import type { JobRecord, Transition } from '../../core/record.ts'
import type { Store, TypeLimits, TransitionPage } from '../../store.ts'
import type { FinalState } from './facts.ts'
import { Facts } from './gather.ts'
import { checkHooks } from './hooks.ts'
import { checkKeys } from './keys.ts'
import { checkCaps, checkLeases } from './leases.ts'
import type { HistoryLine } from './lines.ts'
import type { Loss } from './losses.ts'
import { checkLives } from './lives.ts'
import { checkMachines } from './machines.ts'
import { checkStarts } from './starts.ts'
import { checkCounts, checkDrained, checkPauses, checkRetention } from './totals.ts'
import { Findings, type Invariant, type Violation } from './violation.ts'

export interface CheckHistoryOptions {
  /** The final state of the store; see `finalState`. */
  readonly final: FinalState
  /** Limits by type; they must be the same in all processes, all the time. */
  readonly limits?: Readonly<Record<string, TypeLimits>>
  /** How long after its end, ms, a lease may wait to be rescued; default: not checked. */
  readonly rescueMs?: number
  /**
   * How long, ms, a handler may still start after the answer to a cancel or a pause, and a step after the end of a
   * lease: the window of the store, plus a margin for a busy computer. Default: not checked.
   */
  readonly startMs?: number
  /**
   * Times in which the server of the store has lost what it had acknowledged, by its own time. Jobs with a call in such
   * a time are not judged. Default: none.
   */
  readonly losses?: readonly Loss[]
  /** Must every job have ended? Default true. */
  readonly drained?: boolean
}

export interface HistoryVerdict {
  /** Violations with their evidence, 20 of each invariant at most. */
  readonly violations: readonly Violation[]
  /** The number of all violations, by invariant. */
  readonly counts: Readonly<Partial<Record<Invariant, number>>>
  readonly figures: HistoryFigures
}

/** How much was checked: a short history proves little. */
export interface HistoryFigures {
  readonly calls: number
  /** Calls with an unknown result. */
  readonly unknown: number
  /** Jobs that were stored. */
  readonly jobs: number
  /** Claims in the records, answered or not. */
  readonly attempts: number
  /** Runs started by handlers. */
  readonly runs: number
  /** Steps started by handlers. */
  readonly steps: number
  /** Leases that were rescued (EXPIRE). */
  readonly rescues: number
  /** Settles that were refused because their lease was lost. */
  readonly lostSettles: number
  /** Jobs that were not judged, because of losses. */
  readonly leftOut: number
}

/**
 * Checks histories against the guarantees of the store contract.
 * @param lines of all processes; the two lines of a call must be in their order; see `readHistory`
 * @throws TypeError if the lines are not a history
 * @example
 * const { violations } = checkHistory(readHistory(folder), { final: await finalState(store) })
 * expect(violations).toEqual([])
 */
export function checkHistory(lines: Iterable<HistoryLine>, options: CheckHistoryOptions): HistoryVerdict {
  const { final, limits = {}, rescueMs = null, startMs = null, losses = [], drained = true } = options
  const facts = new Facts(lines, final, losses)
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

function figuresOf({ jobs, figures }: Facts): HistoryFigures {
  const { calls, unknown, runs, steps: stepsBegun, lostSettles, leftOut } = figures
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
  return { calls, unknown, jobs: there, attempts, runs, steps: stepsBegun, rescues, lostSettles, leftOut }
}

/**
 * Reads the final state of a store for `checkHistory`. No call may be in progress.
 * @param store an open store
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
