/** Checks over all jobs: pauses (I10), all jobs ended (I6), counts and log (I12), retention (I13). */
import { isEnded, jobStates } from '../../core/lifecycle.ts'
import type { RetentionBounds } from '../../core/retention.ts'
import type { RetentionPolicy, StateCounts } from '../../store.ts'
import { wording, type FinalState, type JobFacts } from './facts.ts'
import type { Facts } from './gather.ts'
import type { CallOf } from './lines.ts'
import type { Findings } from './violation.ts'

/**
 * I10: a queue is certainly paused from the answer to a pause until the call of the next resume. Claims without an
 * answer are not checked, because they may have been written after the resume.
 */
export function checkPauses(facts: Facts, findings: Findings): void {
  const spans = spansOfPauses(facts)
  if (spans.size === 0) return
  for (const job of facts.jobs.values()) {
    const ofType = spans.get(typeOf(job))
    if (ofType === undefined) continue
    for (const step of job.steps) {
      // A claim is written between its time and its answer.
      const broken = step.event === 'CLAIM' && ofType.find(({ from, to }) => step.at > from && step.knownBy < to)
      if (!broken) continue
      const span = `from ${broken.from} to ${broken.to}`
      findings.add('I10', `job ${job.id} was claimed while its queue was paused ${span}: ${wording(step)}`)
    }
  }
}

export const typeOf = ({ record, inserts }: JobFacts): string => record?.type ?? inserts[0]?.asked.type ?? ''

interface Span {
  readonly from: number
  readonly to: number
}

/** When the queue of each type was certainly paused. */
export function spansOfPauses(facts: Facts): ReadonlyMap<string, readonly Span[]> {
  const spans = new Map<string, Span[]>()
  for (const pause of facts.pauses) {
    if (!pause.asked.paused || pause.answeredAt === null || pause.outcome !== 'ok') continue
    const from = pause.answeredAt
    const to = endOfPause(facts.pauses, pause)
    const ofType = spans.get(pause.asked.type) ?? []
    if (from < to) spans.set(pause.asked.type, [...ofType, { from, to }])
  }
  return spans
}

/** When the first resume was called that may have been written after this pause. */
function endOfPause(calls: readonly CallOf<'queue'>[], pause: CallOf<'queue'>): number {
  let end = Infinity
  for (const { asked, outcome, invokedAt, answeredAt } of calls) {
    if (asked.paused || asked.type !== pause.asked.type || outcome === 'fail') continue
    // A resume without an answer may have been written at any time, or not at all.
    const last = outcome === 'ok' ? (answeredAt ?? Infinity) : Infinity
    if (last >= pause.invokedAt) end = Math.min(end, invokedAt)
  }
  return end
}

/** I6 */
export function checkDrained({ records }: FinalState, findings: Findings): void {
  for (const { id, type, state, history } of records) {
    if (!isEnded(state)) findings.add('I6', `job ${id} (${type}) is ${state} in the end`, history.map(wording))
  }
}

/** I12 */
export function checkCounts(facts: Facts, { records, counts, transitions = [] }: FinalState, findings: Findings): void {
  const types: Record<string, Record<string, number>> = {}
  const all: Record<string, number> = {}
  for (const { type, state } of records) {
    const ofType = (types[type] ??= {})
    ofType[state] = (ofType[state] ?? 0) + 1
    all[state] = (all[state] ?? 0) + 1
  }
  compare('all types', all, counts, findings)
  for (const type of new Set([...Object.keys(types), ...Object.keys(counts.types)])) {
    compare(`type ${type}`, types[type] ?? {}, counts.types[type], findings)
  }
  transitions.forEach((entry, i) => {
    const before = transitions[i - 1]
    if (before === undefined || before.seq < entry.seq) return
    findings.add('I12', 'the transition log is not in the order of seq', [wording(before), wording(entry)])
  })
  const first = transitions[0]
  if (first !== undefined) checkLogged(facts, first.seq, findings)
}

function compare(
  what: string,
  recount: Readonly<Record<string, number>>,
  counts: StateCounts | undefined,
  findings: Findings,
): void {
  for (const state of jobStates) {
    const [counted, there] = [counts?.[state] ?? 0, recount[state] ?? 0]
    if (counted !== there) findings.add('I12', `${what}: ${counted} ${state} counted, ${there} are there`)
  }
}

/** The transitions of a record since the first log entry are in the log. */
function checkLogged(facts: Facts, from: number, findings: Findings): void {
  for (const { id, steps } of facts.jobs.values()) {
    for (const step of steps) {
      if (step.seq < from || step.logged || !step.recorded) continue
      findings.add('I12', `a transition of job ${id} is not in the transition log: ${wording(step)}`)
    }
  }
}

/** I13: jobs of a type that ended before the last complete prune, and still exist, are within its bounds. */
export function checkRetention({ prunes, retains }: Facts, { records }: FinalState, findings: Findings): void {
  const last = prunes.findLast(({ answer, asked }) => answer !== null && answer.pruned < asked.limit)
  if (last === undefined || retains.length === 0) return
  const at = last.invokedAt
  const ended = records.filter(({ finishedAt }) => finishedAt !== null && finishedAt < at)
  for (const [key, kept] of Map.groupBy(ended, ({ type, state }) => JSON.stringify([type, state]))) {
    const [type, state] = JSON.parse(key) as [string, keyof RetentionPolicy]
    const { count, ageMs, minAgeMs, countMax } = widest(retains, type, state)
    const left = `${state} jobs of ${type} are left by the prune at ${at}`
    const bound = kept.some(({ finishedAt }) => at - (finishedAt ?? at) >= minAgeMs) ? count : countMax
    if (kept.length > bound) findings.add('I13', `${kept.length} ${left}, ${bound} at most`)
    const old = kept.filter(({ finishedAt }) => at - (finishedAt ?? at) >= ageMs)
    if (old.length > 0)
      findings.add(
        'I13',
        `${old.length} ${left}, older than ${ageMs} ms`,
        old.map(({ id }) => id),
      )
  }
}

/**
 * The bounds of a type and state; where calls have set several, the widest of them: which of them applied is not
 * recorded.
 */
function widest(retains: Facts['retains'], type: string, state: keyof RetentionPolicy): Required<RetentionBounds> {
  const named = retains.flatMap(({ asked }) =>
    asked.types.filter(([each]) => each === type).map(([, policy]) => policy),
  )
  const policies = named.length > 0 ? named : retains.map(({ asked }) => asked.others)
  const most = (bound: (bounds: RetentionBounds) => number): number =>
    Math.max(...policies.map((policy) => bound(policy[state])))
  return {
    count: most(({ count }) => count),
    ageMs: most(({ ageMs }) => ageMs),
    minAgeMs: most(({ minAgeMs = 0 }) => minAgeMs),
    countMax: most(({ countMax = Infinity }) => countMax),
  }
}
