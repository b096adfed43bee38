/**
 * Unique keys (I8): one live job holds a key at a time, at most one job of a key is started, and each duplicate has a
 * live holder.
 */
import { isEnded, statesTagged } from '../../core/lifecycle.ts'
import { isWhole, wording, type InsertFact, type JobFacts, type Step } from './facts.ts'
import type { Facts } from './gather.ts'
import { stepsOf } from './lives.ts'
import type { Findings } from './violation.ts'

const backlog = statesTagged('backlog')

interface Change {
  readonly job: JobFacts
  readonly step: Step
}

export function checkKeys(facts: Facts, findings: Findings): void {
  const changes = new Map<string, Change[]>()
  for (const job of facts.jobs.values()) {
    for (const insert of job.inserts) checkFound(facts, insert, findings)
    const name = keyName(job)
    if (name === null || !isWhole(job)) continue
    const ofKey = changes.get(name) ?? []
    changes.set(name, ofKey)
    for (const step of job.steps) ofKey.push({ job, step })
  }
  for (const [name, ofKey] of changes) {
    checkHolders(
      name,
      ofKey.toSorted((a, b) => a.step.seq - b.step.seq),
      findings,
    )
  }
}

function keyName({ record, inserts }: JobFacts): string | null {
  const { type, key } = record ?? inserts[0]?.asked ?? { type: '', key: null }
  return key === null ? null : JSON.stringify([type, key])
}

/** Follows the holders of a key in the order of the transitions. */
function checkHolders(name: string, changes: readonly Change[], findings: Findings): void {
  let holder = null as Change | null
  /**
   * A job that gave up its key and has not ended: it is being cancelled, held its key until its start, or is followed.
   */
  let leaving = null as JobFacts | null
  const two = (first: JobFacts, { job, step }: Change): void => {
    const message = `key ${name} has two live jobs, ${first.id} and ${job.id}: ${wording(step)}`
    findings.add('I8', message, [...stepsOf(first), '—', ...stepsOf(job)])
  }
  for (const change of changes) {
    const { job, step } = change
    if (leaving === job && isEnded(step.to)) leaving = null
    if (step.event === 'CLAIM' && leaving !== null && leaving !== job) two(leaving, change)
    if (step.event !== 'ENQUEUE' && step.event !== 'RETRY') {
      if (holder?.job !== job) continue
      const frees = step.event === 'CLAIM' && job.inserts.some(({ asked }) => asked.until === 'start')
      if (frees) leaving = job
      holder = frees || isEnded(step.to) ? null : change
      continue
    }
    // A job that is being cancelled or followed runs to its end without its key.
    if (step.event === 'ENQUEUE' && holder !== null && mayTake(holder, job)) leaving = holder.job
    else if (holder !== null && holder.job !== job) two(holder.job, change)
    holder = change
  }
}

/** Does a new job take the key of its holder without ending it? */
const mayTake = (holder: Change, { inserts }: JobFacts): boolean =>
  holder.step.to === 'cancelling' ||
  (!backlog.has(holder.step.to) && inserts.some(({ asked }) => asked.onConflict === 'follow'))

/** An enqueue that was answered with the holder of its key: was that job live at any time during the call? */
function checkFound(
  facts: Facts,
  { asked, outcome, holder, invokedAt, answeredAt }: InsertFact,
  findings: Findings,
): void {
  if (outcome !== 'found' || holder === asked.id) return
  const job = facts.jobs.get(holder)
  const what = `an enqueue of job ${asked.id} with key ${asked.key} was answered with job ${holder}`
  if (job === undefined || (job.record === null && job.steps.length === 0)) {
    return findings.add('I8', `${what}, which does not exist`)
  }
  const type = job.record?.type ?? job.inserts[0]?.asked.type
  const key = job.record?.key ?? job.inserts[0]?.asked.key
  if (type !== asked.type || key !== asked.key) return findings.add('I8', `${what}, which has key ${key}`)
  if (!isWhole(job) || wasLive(job.steps, invokedAt, answeredAt)) return
  findings.add('I8', `${what} from ${invokedAt} to ${answeredAt}, while that job was not live`, stepsOf(job))
}

/** A transition is written between its time and the first acknowledgement of it or of a later one. */
function wasLive(steps: readonly Step[], from: number, to: number): boolean {
  let knownBy = Infinity
  for (const step of steps.toReversed()) {
    if (!isEnded(step.to) && step.at <= to && knownBy >= from) return true
    knownBy = Math.min(knownBy, step.knownBy)
  }
  return false
}
