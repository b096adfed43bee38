/**
 * Parked machines after a deployment: by which states and tags they are found, and whether a process can run them.
 * Nothing runs, and the checkpoint stays as it is: an older version can still go on from it.
 */
import type { Assessment, ParkedJob } from './definition.ts'
import { arrows } from './lifecycle.ts'
import type { ReindexAnswer, ReindexRequest } from './machine-values.ts'
import type { Unit } from './unit.ts'
import { clearUnsupported, markUnsupported } from './unsupported.ts'

const parked = new Set<string>(Object.keys(arrows('WAKE')))

/** What is to be written after the assessment of a parked job; null for nothing. */
export function reindexRequest(job: ParkedJob, found: Assessment): ReindexRequest | null {
  const { id, checkpoint, unsupported: before } = job
  if (checkpoint === null || found.kind === 'outdated') return null
  const request = { id, checkpoint: checkpoint.number, standing: null, unsupported: null }
  if (found.kind === 'moved') return { ...request, standing: found.standing }
  if (found.kind !== 'unsupported') return before === null ? null : request
  const { version, reason } = found
  if (before !== null && before.version === version && before.reason === reason) return null
  return { ...request, unsupported: { version, reason } }
}

/** Changes what a parked job is found by, if it still stands at the checkpoint that the caller has read. */
export function reindex(unit: Unit, { id, checkpoint, standing, unsupported }: ReindexRequest): ReindexAnswer {
  const row = unit.find(id)
  if (row === undefined) return { outcome: 'notFound' }
  if (!parked.has(row.state) || row.machine?.checkpoint?.number !== checkpoint) return { outcome: 'changed' }
  if (standing !== null) unit.setStanding(row, standing)
  if (unsupported === null) clearUnsupported(unit, row)
  else markUnsupported(unit, row, unsupported)
  return { outcome: 'kept' }
}
