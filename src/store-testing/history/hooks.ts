/** Hooks of deaths: each death of a job whose claim named a hook has inserted it once, and there is no other one. */
import type { JobFacts, Step } from './facts.ts'
import type { Facts } from './gather.ts'
import type { Findings } from './violation.ts'

/** The death that a hook is named after. */
const hookId = /^(?<job>.*)\/dead\/(?<generation>\d+)$/s

/** Is it a job that nobody enqueued, because a death has inserted it? */
export const isHook = ({ hookTypes }: Facts, { inserts, record }: JobFacts): boolean =>
  inserts.length === 0 && record !== null && hookTypes.has(record.type)

export function checkHooks(facts: Facts, findings: Findings): void {
  if (facts.hookTypes.size === 0) return
  const missing = [...facts.jobs.values()].flatMap((job) => hooksOf(job).filter((hook) => !isKnown(facts, hook)))
  // Which of them were pruned only the sum can tell.
  if (missing.length > facts.removable) {
    for (const id of missing) findings.add('hooks', `${id} was not inserted, though its job has died`)
  }
  for (const job of facts.jobs.values()) if (isHook(facts, job)) checkCause(job, facts, findings)
}

const isKnown = (facts: Facts, id: string): boolean => {
  const hook = facts.jobs.get(id)
  return hook !== undefined && (hook.record !== null || hook.steps.length > 0 || hook.discarded)
}

/** The ids of the hooks that the deaths of a job have inserted, as far as the claims before them were answered. */
function hooksOf({ id, steps, attempts }: JobFacts): string[] {
  const claims = new Map([...attempts.values()].map((attempt) => [attempt.seq, attempt]))
  let claim: Step | undefined
  const hooks: string[] = []
  for (const step of steps) {
    if (step.event === 'CLAIM') claim = step
    const attempt = step.to === 'dead' ? claims.get(claim?.seq ?? 0) : undefined
    if (attempt !== undefined && attempt.onDead !== null) hooks.push(`${id}/dead/${attempt.generation}`)
  }
  return hooks
}

function checkCause({ id }: JobFacts, facts: Facts, findings: Findings): void {
  const { job: origin = '', generation = '' } = hookId.exec(id)?.groups ?? {}
  const steps = facts.jobs.get(origin)?.steps ?? []
  // Of a job that was pruned, or whose history is cut, not every death is known.
  if (steps[0]?.event !== 'ENQUEUE') {
    if (facts.removable === 0 && steps.length === 0) findings.add('hooks', `${id} is the hook of no job that is known`)
    return
  }
  let current = 1
  for (const step of steps) {
    if (step.event === 'RETRY') current++
    if (step.to === 'dead' && current === Number(generation)) return
  }
  findings.add('hooks', `${id} was inserted, and its job has not died in that generation`)
}
