/** The view of a job: record, machine, checkpoints, parent and children, and the actions allowed now. */
import type { JobSummary } from '../index.ts'
import { arrowsFrom, isEnded } from '../core/lifecycle.ts'
import { nextTurn } from './in-turns.ts'
import { checkpointsShown, jobShown, type CheckpointShown, type JobShown, type MachineShown } from './machine-shown.ts'
import type { DashboardSettings } from './options.ts'
import { redacted } from './redaction.ts'

const childrenMax = 100

export interface JobView {
  readonly now: number
  readonly job: JobShown['job']
  readonly machine: MachineShown | null
  /** Why the machine cannot be shown; otherwise null. */
  readonly machineProblem: string | null
  readonly checkpoints: readonly CheckpointShown[]
  readonly children: readonly JobSummary[]
  readonly may: {
    readonly retry: boolean
    readonly cancel: boolean
    readonly discard: boolean
    readonly send: boolean
    readonly fork: boolean
  }
}

/** @returns null if the job does not exist */
export async function jobView(settings: DashboardSettings, id: string): Promise<JobView | null> {
  const { client } = settings
  const handle = await client.job(id)
  if (handle === null) return null
  const [record, children] = await Promise.all([
    handle.record(),
    client.list({ parent: id, limit: childrenMax, fields: 'summary' }),
  ])
  await nextTurn()
  const { job, machine, problem } = await jobShown(settings, record)
  await nextTurn()
  const checkpoints = await checkpointsShown(settings, record)
  const { state } = record
  return {
    now: client.store.now(),
    job,
    machine,
    machineProblem: problem,
    checkpoints,
    children: children.map((child) => redacted(settings.redact, child)),
    may: {
      retry: 'RETRY' in arrowsFrom(state),
      cancel: 'CANCEL' in arrowsFrom(state),
      discard: isEnded(state),
      send: record.version !== null && !isEnded(state),
      fork: machine !== null && checkpoints.length > 0,
    },
  }
}
