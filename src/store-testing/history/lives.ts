/** Each job: it exists (I1), follows the chart (I2), counts its attempts (I3), and obeys a cancel (I7). */
import { caps } from '../../core/caps.ts'
import {
  arrowsFrom,
  countersAfter,
  isEnded,
  nextArrow,
  statesTagged,
  type Arrow,
  type JobCounters,
  type JobState,
} from '../../core/lifecycle.ts'
import { Allowance } from './allowance.ts'
import { isHook } from './hooks.ts'
import { isWhole, wording, type JobFacts, type Step } from './facts.ts'
import type { Facts } from './gather.ts'
import type { Findings } from './violation.ts'

export function checkLives(facts: Facts, findings: Findings): void {
  for (const { id, ways } of facts.contradictions) {
    findings.add('I2', `a transition of job ${id} is reported in two ways`, ways)
  }
  for (const id of facts.twice) findings.add('I1', `job ${id} is listed twice`)
  checkOrder(facts, findings)
  let missing = 0
  for (const job of facts.jobs.values()) {
    if (job.record === null) missing += isMissing(job) ? 1 : 0
    else if (!isHook(facts, job)) checkBirth(job, job.record.id, findings)
    checkWritten(job, findings)
    if (isWhole(job)) replay(job, facts, findings)
    checkRuns(job, findings)
    checkCancels(job, findings)
  }
  if (missing <= facts.removable) return
  for (const job of facts.jobs.values()) {
    if (job.record === null && isMissing(job)) {
      const why = `${missing} are missing, ${facts.removable} at most were pruned`
      findings.add('I1', `job ${job.id} was acknowledged and is not there (${why})`, stepsOf(job))
    }
  }
}

/**
 * Was it acknowledged, and is it missing without a discard? Whether it was pruned follows only from the number of such
 * jobs.
 */
const isMissing = ({ inserts, discarded, steps }: JobFacts): boolean =>
  !discarded &&
  (steps.length > 0 || inserts.some(({ outcome, holder, asked }) => holder === asked.id && outcome === 'found'))

/** seq is the order of all transitions: no two share one. */
function checkOrder(facts: Facts, findings: Findings): void {
  const owners = new Map<number, string>()
  for (const { id, steps } of facts.jobs.values()) {
    for (const step of steps) {
      const other = owners.get(step.seq)
      if (other !== undefined) findings.add('I2', `jobs ${other} and ${id} share seq ${step.seq}`, [wording(step)])
      owners.set(step.seq, id)
    }
  }
}

/** I1, for an existing job: an enqueue has requested it, and not all of them were refused. */
function checkBirth({ inserts, steps }: JobFacts, id: string, findings: Findings): void {
  if (inserts.length === 0) findings.add('I1', `job ${id} exists without an enqueue`)
  else if (inserts.every(({ outcome }) => outcome === 'refused')) {
    findings.add('I1', `job ${id} exists although every enqueue of it was refused`, steps.map(wording))
  }
}

/** I1, for transitions: what was acknowledged or logged is in the record. */
function checkWritten(job: JobFacts, findings: Findings): void {
  const { id, record, steps } = job
  if (record === null) return
  // A history is capped: its oldest entries are removed.
  const isCut = record.history.length >= caps.history
  const firstSeq = record.history[0]?.seq ?? 0
  if (!isCut && record.history[0]?.event !== 'ENQUEUE') {
    findings.add('I2', `the record of job ${id} does not have its enqueue`, stepsOf(job))
  }
  for (const step of steps) {
    if (step.recorded || (isCut && step.seq < firstSeq) || isLeftOut(step, steps)) continue
    const said = step.knownBy < Infinity ? 'acknowledged' : 'logged'
    findings.add('I1', `a transition of job ${id} was ${said} and is not in its record: ${wording(step)}`, stepsOf(job))
  }
  const last = steps.findLast(({ recorded }) => recorded)
  if (last?.to !== record.state) findings.add('I2', `job ${id} is ${record.state} after`, stepsOf(job))
}

const leftOut = new Set<Step['event']>(['DUE', 'CLAIM', 'SNOOZE', 'RELEASE', 'EXPIRE'])

/**
 * Was the job postponed as unsupported before this step, and again after it? The transitions between, from `scheduled`
 * to `scheduled`, are not in its record.
 */
function isLeftOut({ event, seq }: Step, steps: readonly Step[]): boolean {
  const before = steps.findLast((other) => other.seq < seq && other.recorded)
  return before?.unsupported === true && leftOut.has(event) && steps.some((o) => o.seq >= seq && o.unsupported)
}

/** I2 and I3: replays the transitions of the job on the chart. */
function replay(job: JobFacts, facts: Facts, findings: Findings): void {
  const allowance = new Allowance(job, facts.allowed)
  let state: JobState | null = null
  let counters: Counters = { attempt: 0, generation: 1 }
  for (const step of job.steps) {
    allowance.before(step)
    const problem = state === null ? birthProblem(step) : moveProblem(state, step, counters, allowance.max)
    if (problem !== null) {
      findings.add(problem.invariant, `job ${job.id}: ${problem.message}: ${wording(step)}`, stepsOf(job))
      return
    }
    const arrow = state === null ? null : takenArrow(state, step, counters, allowance.max)
    if (arrow !== null) counters = countersAfter(arrow, counted(counters, 0))
    allowance.after(step)
    if (step.attempt !== counters.attempt) {
      const message = `job ${job.id}: ${counters.attempt} attempts are spent, not ${step.attempt}: ${wording(step)}`
      return findings.add('I3', message, stepsOf(job))
    }
    state = step.to
  }
  checkEnd(job, counters, allowance, findings)
}

function checkEnd(job: JobFacts, { attempt, generation }: Counters, allowance: Allowance, findings: Findings): void {
  const { record } = job
  if (record === null) return
  allowance.before({ seq: Infinity })
  if (allowance.differsFrom(record.maxAttempts)) {
    const { maxAttempts } = record
    findings.add('I3', `job ${job.id} may spend ${maxAttempts} attempts, it came to ${allowance.max}`, stepsOf(job))
  }
  if (record.attempt === attempt && record.generation === generation) return
  const is = `attempt ${record.attempt} of generation ${record.generation}`
  findings.add('I3', `job ${job.id} is at ${is}, not ${attempt} of ${generation}`, stepsOf(job))
}

type Counters = Omit<JobCounters, 'maxAttempts'>

interface Problem {
  readonly invariant: 'I2' | 'I3'
  readonly message: string
}

const birthProblem = ({ event, to }: Step): Problem | null =>
  event === 'ENQUEUE' && statesTagged('birth').has(to) ? null : { invariant: 'I2', message: 'it was not born so' }

function moveProblem(state: JobState, step: Step, counters: Counters, max: number | null): Problem | null {
  if (step.from !== state) return { invariant: 'I2', message: `it was ${state}` }
  if (step.event === 'ENQUEUE') return { invariant: 'I2', message: 'it was born twice' }
  const arrows = arrowsFrom(state)[step.event]
  if (arrows === undefined || !arrows.some(({ to }) => to === step.to)) {
    return { invariant: 'I2', message: isEnded(state) ? 'it had ended' : 'the chart has no such arrow' }
  }
  if (takenArrow(state, step, counters, max) !== null) return null
  // The arrow exists, but its guard, which compares attempts, does not hold.
  return { invariant: 'I3', message: `after ${counters.attempt} of ${max} attempts` }
}

/**
 * The arrow of a step, if the chart has it. A history does not record whether a failure was fatal: both are tried. If
 * the allowed number of attempts is not known, both none and some attempts left are tried.
 */
function takenArrow(state: JobState, { event, to }: Step, counters: Counters, max: number | null): Arrow | null {
  if (event === 'ENQUEUE') return null
  for (const maxAttempts of max === null ? [0, Infinity] : [max]) {
    for (const fatal of [false, true]) {
      const arrow = nextArrow(state, event, counted(counters, maxAttempts), fatal)
      if (arrow?.to === to) return arrow
    }
  }
  return null
}

const counted = ({ attempt, generation }: Counters, maxAttempts: number): JobCounters => ({
  attempt,
  maxAttempts,
  generation,
})

/** I3, for runs: each claim starts one run at most, and no run starts without a claim. */
function checkRuns(job: JobFacts, findings: Findings): void {
  const started = new Set<number>()
  for (const { seq, attempt, generation } of job.runs) {
    if (seq === null) continue
    const claim = job.steps.find((step) => step.seq === seq)
    const what = `attempt ${attempt} of generation ${generation} of job ${job.id}`
    if (started.has(seq)) findings.add('I3', `${what} started twice`, stepsOf(job))
    if (claim === undefined ? isWhole(job) : claim.event !== 'CLAIM' || claim.attempt !== attempt) {
      findings.add('I3', `${what} started without a claim`, stepsOf(job))
    }
    started.add(seq)
  }
  // The allowed attempts of a machine change with its checkpoints: the replay has checked each.
  if (job.machine !== null) return
  const allowed = [...job.attempts.values()].map((each) => each.allowed ?? 0)
  const max = Math.max(job.record?.maxAttempts ?? job.inserts[0]?.asked.maxAttempts ?? Infinity, ...allowed)
  for (const { attempt, generation } of job.attempts.values()) {
    if (attempt <= max) continue
    findings.add('I3', `attempt ${attempt} of generation ${generation} of job ${job.id}: ${max} at most`, stepsOf(job))
  }
}

/** I7: an acknowledged cancel was written, and no attempt starts after it. */
function checkCancels(job: JobFacts, findings: Findings): void {
  for (const { seq, invokedAt, answeredAt } of job.cancels) {
    if (seq === null && job.machine?.takesCancel === true) {
      checkLetter(job, findings)
      continue
    }
    const cancelled = job.steps.some((step) => step.event === 'CANCEL' && step.at <= answeredAt)
    if (isWhole(job) && !cancelled) {
      findings.add('I7', `job ${job.id} was not cancelled, as was acknowledged`, stepsOf(job))
    }
    const after = job.steps.filter((step) => (seq === null ? step.at >= invokedAt : step.seq > seq))
    const next = after.find(({ event }) => event === 'CLAIM' || event === 'RETRY')
    if (next?.event !== 'CLAIM' || (seq === null && next.at <= answeredAt)) continue
    findings.add('I7', `job ${job.id} was claimed after its cancel: ${wording(next)}`, stepsOf(job))
  }
}

/**
 * I7, for a machine that got its cancel as a message: it may run on and be done, but not after it has handled the
 * cancel.
 */
function checkLetter(job: JobFacts, findings: Findings): void {
  const taken = job.writes.find(({ cancelTaken, answer }) => cancelTaken === true && answer?.to === 'done')
  if (taken === undefined) return
  findings.add('I7', `the machine of job ${job.id} has handled its cancel, but the job is done`, stepsOf(job))
}

/** The transitions of a job, as evidence. */
export const stepsOf = (job: JobFacts): readonly string[] => job.steps.map(wording)
