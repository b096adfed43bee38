/**
 * Leases: which attempt may write (I4), when an attempt may follow another (I5), and how many are held at once (caps).
 */
import { isLeased } from '../../core/lifecycle.ts'
import type { RateLimit, TypeLimits } from '../../store.ts'
import { isWhole, wording, type Attempt, type JobFacts, type Step, type Write } from './facts.ts'
import type { Facts } from './gather.ts'
import { stepsOf } from './lives.ts'
import type { Findings } from './violation.ts'

/** @param rescueMs how long after its end, ms, a lease may wait to be rescued; null: without limit */
export function checkLeases(facts: Facts, rescueMs: number | null, findings: Findings): void {
  for (const job of facts.jobs.values()) {
    if (!isWhole(job)) continue
    for (const write of job.writes) checkWrite(job, write, facts, findings)
    for (const attempt of job.attempts.values()) checkLease(job, attempt, rescueMs, findings)
    checkBeside(job, findings)
  }
}

/** The transition that ended an attempt; undefined while it is held. */
function endOf({ steps }: JobFacts, claimSeq: number): Step | undefined {
  return steps.find(({ seq, from, to }) => seq > claimSeq && from !== null && isLeased(from) && !isLeased(to))
}

/** I4 */
function checkWrite(job: JobFacts, write: Write, { unansweredClaims }: Facts, findings: Findings): void {
  const { kind, token, attempt: number, accepted, answer, invokedAt, answeredAt } = write
  const held = job.attempts.get(token)
  const what = `a ${kind} of job ${job.id}, attempt ${number}, token ${token}`
  if (held === undefined || held.attempt !== number) {
    // What a claim without an answer has leased is released by its token.
    const isRelease = held === undefined && unansweredClaims.has(token)
    if (accepted && !isRelease) findings.add('I4', `${what} was accepted, and no claim has given it out`, stepsOf(job))
    return
  }
  const end = endOf(job, held.seq)
  if (accepted && answer !== null && end?.seq !== answer.seq) {
    const ended = end === undefined ? 'has not ended' : `ended by ${wording(end)}`
    findings.add('I4', `${what} was accepted as ${answer.seq}, but its attempt ${ended}`, stepsOf(job))
  }
  if (accepted && answer === null && end !== undefined && end.at < invokedAt) {
    findings.add('I4', `${what} was accepted at ${invokedAt}, after its attempt had ended`, stepsOf(job))
  }
  if (!accepted && (end === undefined || end.at > answeredAt)) {
    findings.add('I4', `${what} was refused as lost at ${answeredAt} while it was current`, stepsOf(job))
  }
}

/** I5, in the store: only a lease that has run out is rescued, and in time. */
function checkLease(job: JobFacts, held: Attempt, rescueMs: number | null, findings: Findings): void {
  const { seq, attempt, heldUntil, heldUntilMost } = held
  const end = endOf(job, seq)
  if (end?.event !== 'EXPIRE') return
  if (rescueMs !== null && end.at > heldUntilMost + rescueMs) {
    const lateMs = end.at - heldUntilMost
    findings.add('late', `attempt ${attempt} of job ${job.id} was rescued ${lateMs} ms after its lease`, stepsOf(job))
  }
  if (end.at >= heldUntil) return
  const message = `attempt ${attempt} of job ${job.id} was rescued at ${end.at}, but its lease lasted until ${heldUntil}`
  findings.add('I5', message, stepsOf(job))
}

/** I5, in the handlers: a run may start beside another run only if the lease of that one has run out. */
function checkBeside(job: JobFacts, findings: Findings): void {
  const runs = job.runs.toSorted((a, b) => a.startedAt - b.startedAt)
  for (const [i, later] of runs.entries()) {
    for (const earlier of runs.slice(0, i)) {
      if (earlier.seq === null || earlier.endedAt === null || earlier.endedAt <= later.startedAt) continue
      if (endOf(job, earlier.seq)?.event === 'EXPIRE') continue
      const spans = `attempt ${earlier.attempt} ran from ${earlier.startedAt} to ${earlier.endedAt}`
      const message = `job ${job.id}: ${spans}, attempt ${later.attempt} began at ${later.startedAt}`
      findings.add('I5', message, stepsOf(job))
    }
  }
}

/** One claim, or one end of it. */
interface Change {
  readonly step: Step
  readonly job: JobFacts
  readonly by: 1 | -1
}

/** caps: counts the leases of each limited type over its whole history. */
export function checkCaps(facts: Facts, limits: Readonly<Record<string, TypeLimits>>, findings: Findings): void {
  const byType = new Map<string, Change[]>(Object.keys(limits).map((type) => [type, []]))
  for (const job of facts.jobs.values()) {
    const changes = byType.get(typeOf(job))
    // Without all transitions of a job, the ends of its leases are not known.
    if (changes === undefined || !isWhole(job)) continue
    for (const step of job.steps) {
      const [was, is] = [step.from !== null && isLeased(step.from), isLeased(step.to)]
      if (was !== is) changes.push({ step, job, by: is ? 1 : -1 })
    }
  }
  for (const [type, changes] of byType) {
    const inOrder = changes.toSorted((a, b) => a.step.seq - b.step.seq)
    const { concurrency, perKey, rate, keyRate } = limits[type] as TypeLimits
    checkAtOnce(inOrder, concurrency, () => type, `leases of type ${type}`, findings)
    checkAtOnce(inOrder, perKey, concurrencyKeyOf, `leases of type ${type} for one key`, findings)
    if (rate !== null) checkRate(inOrder, rate, `type ${type}`, findings)
    if (keyRate === undefined) continue
    const byKey = Map.groupBy(inOrder, ({ job }) => concurrencyKeyOf(job))
    for (const [key, ofKey] of byKey) {
      if (key !== null) checkRate(ofKey, keyRate, `key ${key} of type ${type}`, findings)
    }
  }
}

const typeOf = ({ record, inserts }: JobFacts): string => record?.type ?? inserts[0]?.asked.type ?? ''
const concurrencyKeyOf = ({ record, inserts }: JobFacts): string | null =>
  record?.concurrencyKey ?? inserts[0]?.asked.concurrencyKey ?? null

function checkAtOnce(
  changes: readonly Change[],
  max: number | null,
  groupOf: (job: JobFacts) => string | null,
  what: string,
  findings: Findings,
): void {
  if (max === null) return
  const held = new Map<string, Set<string>>()
  for (const { step, job, by } of changes) {
    const group = groupOf(job)
    if (group === null) continue
    const ids = held.get(group) ?? new Set()
    held.set(group, ids)
    if (by === 1) ids.add(job.id)
    else ids.delete(job.id)
    if (by === -1 || ids.size <= max) continue
    findings.add('caps', `${ids.size} ${what} at once, ${max} at most, after job ${job.id}: ${wording(step)}`, [...ids])
  }
}

function checkRate(changes: readonly Change[], { limit, perMs }: RateLimit, whose: string, findings: Findings): void {
  const claims = changes.filter(({ by }) => by === 1).toSorted((a, b) => a.step.at - b.step.at)
  claims.forEach(({ step }, i) => {
    const past = claims[i - limit]?.step
    if (past === undefined || step.at - past.at >= perMs) return
    const window = [wording(past), wording(step)]
    findings.add('caps', `${limit + 1} claims of ${whose} within ${perMs} ms, ${limit} at most`, window)
  })
}
