/** Enqueues as telemetry sees them: from the call to the answer. */
import type { JobDefinition } from '../core/definition.ts'
import type { ClientSettings } from '../core/settings.ts'
import type { SendEnd, SendSpan, SentJobs } from '../core/telemetry.ts'

interface Sent {
  readonly deduplicated: boolean
}

/** Makes a call that enqueues jobs, and tells the telemetry how it has ended. */
export function traced<Result extends Sent | readonly Sent[] | null>(
  { telemetry, clock }: Pick<ClientSettings, 'telemetry' | 'clock'>,
  jobs: SentJobs,
  call: (span: SendSpan | null) => Promise<Result>,
): Promise<Result> {
  if (telemetry === null) return call(null)
  const span = telemetry.send(jobs)
  if (span === null) return call(null)
  const startedAt = clock.monotonic()
  const end = (how: SendEnd): void => span.end(how, clock.monotonic() - startedAt)
  return call(span).then(
    (result) => {
      end(endOf(result))
      return result
    },
    (error: unknown) => {
      end({ error })
      throw error
    },
  )
}

/** The same of a call that is answered at once. */
export function tracedNow<Result extends Sent | readonly Sent[] | null>(
  { telemetry, clock }: Pick<ClientSettings, 'telemetry' | 'clock'>,
  jobs: SentJobs,
  call: (span: SendSpan | null) => Result,
): Result {
  const span = telemetry === null ? null : telemetry.send(jobs)
  if (span === null) return call(null)
  const startedAt = clock.monotonic()
  try {
    const result = call(span)
    span.end(endOf(result), clock.monotonic() - startedAt)
    return result
  } catch (error) {
    span.end({ error }, clock.monotonic() - startedAt)
    throw error
  }
}

/** null: there was no room. */
function endOf(result: Sent | readonly Sent[] | null): SendEnd {
  if (result === null) return { inserted: 0, found: 0 }
  const handles = 'deduplicated' in result ? [result] : result
  const found = handles.filter(({ deduplicated }) => deduplicated).length
  return { inserted: handles.length - found, found }
}

/** The type of what may be no definition: the enqueue refuses it later. */
export const typeIn = (job: JobDefinition | undefined): string => (typeof job?.type === 'string' ? job.type : 'unknown')
