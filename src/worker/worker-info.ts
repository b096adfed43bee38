/** The record of a runtime in the list of workers. */
import type { JobDefinition, MachineRunner } from '../core/definition.ts'
import { hostName, processId } from '../core/platform.ts'
import type { RuntimeSettings } from '../core/settings.ts'
import type { WorkerInfo } from '../store.ts'
import { version } from '../core/version.ts'

const limited = (jobs: Iterable<JobDefinition>): JobDefinition[] =>
  [...jobs].filter(({ limits }) => Object.values(limits).some((limit) => limit !== null))

/** What changes while a worker runs. */
export interface WorkerLoad {
  readonly slots: number
  readonly paused: boolean
}

export const workerInfo = (
  id: string,
  settings: RuntimeSettings,
  { slots, paused }: WorkerLoad,
  startedAt: number,
): WorkerInfo => ({
  id,
  name: settings.name ?? `${hostName()}:${processId}`,
  host: hostName(),
  pid: processId,
  version,
  slots,
  types: [...settings.jobs.keys()],
  definitions: definitionsOf(settings.jobs),
  events: ofMachines(settings.jobs, ({ events }) => events),
  limits: Object.fromEntries(limited(settings.jobs.values()).map((job) => [job.type, job.limits])),
  leaseMs: settings.leaseMs,
  ...(paused && { paused }),
  startedAt,
})

/** The definitions of the machines among these jobs, by type: ids, versions and hashes. */
export const definitionsOf = (jobs: ReadonlyMap<string, JobDefinition>): Readonly<Record<string, string>> =>
  ofMachines(jobs, ({ definitions }) => definitions)

const ofMachines = <T>(
  jobs: ReadonlyMap<string, JobDefinition>,
  what: (machine: MachineRunner) => T,
): Readonly<Record<string, T>> =>
  Object.fromEntries([...jobs].flatMap(([type, { machine }]) => (machine === null ? [] : [[type, what(machine)]])))
