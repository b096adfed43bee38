/**
 * What handlers began: no start after an acknowledged cancel (I7) or pause (I10), but for a stated window, and the steps: what
 * is stored is not done again, and nothing is begun without a lease.
 */
import type { JobFacts, RunFact, StepFact } from './facts.ts'
import type { Facts } from './gather.ts'
import { stepsOf } from './lives.ts'
import { spansOfPauses, typeOf } from './totals.ts'
import type { Findings } from './violation.ts'

/** @param startMs how long, ms, after an answer a start may come that the answer rules out; null: starts are not judged */
export function checkStarts(facts: Facts, startMs: number | null, findings: Findings): void {
  const spans = spansOfPauses(facts)
  for (const job of facts.jobs.values()) {
    for (const step of job.stepsBegun) checkNotStored(job, step, findings)
    if (startMs === null) continue
    for (const step of job.stepsBegun) checkLeased(job, step, startMs, findings)
    for (const run of job.runs) {
      checkNotCancelled(job, run, startMs, findings)
      const paused = spans.get(typeOf(job))?.find(({ from, to }) => {
        return run.startedAt > from + startMs && run.startedAt < to
      })
      if (paused === undefined) continue
      const span = `from ${paused.from} to ${paused.to}`
      findings.add('I10', `${nameOf(job, run)} started at ${run.startedAt}, its queue was paused ${span}`, stepsOf(job))
    }
  }
}

const nameOf = ({ id }: JobFacts, { attempt, generation }: Pick<RunFact, 'attempt' | 'generation'>): string =>
  `attempt ${attempt} of generation ${generation} of job ${id}`

/** A machine that was sent its cancel as an event runs on, and no transition says that it was cancelled. */
function checkNotCancelled(job: JobFacts, run: RunFact, startMs: number, findings: Findings): void {
  for (const { seq, answeredAt } of job.cancels) {
    if (seq === null || run.seq === null || run.seq > seq || run.startedAt <= answeredAt + startMs) continue
    const message = `${nameOf(job, run)} started at ${run.startedAt}, its cancel was answered at ${answeredAt}`
    return findings.add('I7', message, stepsOf(job))
  }
}

/** A new input, or a new generation, begins all steps anew; of the input nobody knows when it came. */
function checkNotStored(job: JobFacts, step: StepFact, findings: Findings): void {
  if (job.machine?.replaced === true) return
  const { name, generation } = step
  // Stores keep whole milliseconds; a clock may read parts of them.
  const begunAt = Math.floor(step.begunAt)
  const stored = job.stepsStored.find((each) => {
    return each.name === name && each.storedBy < begunAt && job.attempts.get(each.token)?.generation === generation
  })
  if (stored === undefined) return
  const message = `step ${name} of ${nameOf(job, step)} was begun at ${begunAt}, its result was stored at ${stored.storedBy}`
  findings.add('steps', message, stepsOf(job))
}

function checkLeased(job: JobFacts, step: StepFact, startMs: number, findings: Findings): void {
  const held = [...job.attempts.values()].find(({ seq }) => seq === step.seq)
  if (held === undefined || step.begunAt <= held.heldUntilMost + startMs) return
  const message = `step ${step.name} of ${nameOf(job, step)} was begun at ${step.begunAt}, its lease ran out at ${held.heldUntilMost}`
  findings.add('steps', message, stepsOf(job))
}
