/**
 * Which definitions are the same. A module that is loaded twice (by a hot reload, in two bundles) makes each of its
 * definitions twice. Copies have the same type, options and machine; their functions are other objects, and a minifier
 * may have written them otherwise, so that of a function only its presence counts.
 */
import type { JobDefinition } from './definition.ts'

/** Is `job` the listed definition, a copy of it, or a version of the same machine? */
export const isDefinition = (listed: JobDefinition | undefined, job: JobDefinition): boolean =>
  listed !== undefined && (listed === job || differences(listed, job).length === 0)

/** The options in which a definition is not the listed one of its type; empty for a copy. */
export function differences(listed: JobDefinition, job: JobDefinition): string[] {
  if (job.machine !== null && listed.machine !== null) {
    if (listed.machine.knows(job.machine)) return []
    if (!isCopyOf(listed.machine.fingerprints, job.machine.fingerprints)) return ['machine']
    // The other options are those of the current version.
    if (job.machine.version !== listed.machine.version) return []
  }
  const [own, given] = [compared(listed), compared(job)]
  return Object.keys(own).filter((option) => JSON.stringify(own[option]) !== JSON.stringify(given[option]))
}

const isCopyOf = (listed: readonly string[], given: readonly string[]): boolean =>
  given.every((each) => listed.includes(each))

/** Are the handlers written alike? What runs is the one that is listed. */
export const sameHandler = (listed: JobDefinition, job: JobDefinition): boolean =>
  String(listed.run) === String(job.run) && String(listed.batch?.run) === String(job.batch?.run)

/** What copies have in common, by the options of `defineJob`. */
function compared(job: JobDefinition): Readonly<Record<string, unknown>> {
  const { limits, batch, thread, backoff, onDead } = job
  return {
    run: [job.machine !== null, thread !== null, batch !== null],
    input: job.schema !== null,
    events: job.eventSchemas === null ? null : Object.keys(job.eventSchemas).toSorted(),
    weight: job.weight,
    concurrency: limits.concurrency,
    perKey: limits.perKey,
    rateLimit: limits.rate,
    keyRateLimit: limits.keyRate,
    concurrencyKey: job.keyOf !== null,
    keyWeight: job.keyWeightOf !== null,
    'retry.maxAttempts': job.maxAttempts,
    'retry.backoff': typeof backoff === 'function' ? null : backoff,
    'retry.retryIf': job.retryIf !== null,
    attemptTimeout: job.attemptTimeoutMs,
    unique: job.unique,
    capacity: job.capacity,
    retention: job.retention,
    onDead: onDead === null ? null : compared(onDead),
    'thread.memoryMb': thread?.memoryMb,
    'batch.size': batch?.size,
    'batch.wait': batch?.waitMs,
  }
}
