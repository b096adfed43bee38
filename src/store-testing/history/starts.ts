/**
 * Starts of handlers: none after an acknowledged cancel (I7) or pause (I10), except within a given window. Starts of
 * steps: none after the result was stored, and none without a lease.
 */
import type { JobFacts, RunFact, StepFact } from './facts.ts'
import type { Facts } from './gather.ts'
import { stepsOf } from './lives.ts'
import { spansOfPauses, typeOf } from './totals.ts'
import type { Findings } from './violation.ts'

/** @param startMs how long after the answer to a cancel or pause, ms, a run may still start; null: not checked */
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

/** A machine that got its cancel as a message runs on; there is no CANCEL transition then. */
function checkNotCancelled(job: JobFacts, run: RunFact, startMs: number, findings: Findings): void {
  for (const { seq, answeredAt } of job.cancels) {
    if (seq === null || run.seq === null || run.seq > seq || run.startedAt <= answeredAt + startMs) continue
    const message = `${nameOf(job, run)} started at ${run.startedAt}, its cancel was answered at ${answeredAt}`
    return findings.add('I7', message, stepsOf(job))
  }
}

/** A new input or a new generation removes all step results; the time of a new input is not known. */
function checkNotStored(job: JobFacts, step: StepFact, findings: Findings): void {
  if (job.machine?.replaced === true) return
  const { name, generation } = step
  // Stores keep whole milliseconds; a clock may have fractions.
  const begunAt = Math.floor(step.begunAt)
  const stored = job.stepsStored.find((each) => {
    return each.name === name && each.storedBy < begunAt && job.attempts.get(each.token)?.generation === generation
  })
  if (stored === undefined) return
  const message = `step ${name} of ${nameOf(job, step)} was started at ${begunAt}, its result was stored at ${stored.storedBy}`
  findings.add('steps', message, stepsOf(job))
}

function checkLeased(job: JobFacts, step: StepFact, startMs: number, findings: Findings): void {
  const held = [...job.attempts.values()].find(({ seq }) => seq === step.seq)
  if (held === undefined || step.begunAt <= held.heldUntilMost + startMs) return
  const message = `step ${step.name} of ${nameOf(job, step)} was started at ${step.begunAt}, its lease ran out at ${held.heldUntilMost}`
  findings.add('steps', message, stepsOf(job))
}
