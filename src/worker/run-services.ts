/** What runs are given besides their job: signs of life for handlers, a seat for machines. */
import type { CancelRequest } from '../store.ts'
import type { RunServices } from './attempt.ts'
import { machineRunContext, type MachineRunContextOptions } from './machine-run-context.ts'
import { runReports } from './run-reports.ts'

export interface RunServicesOptions extends Omit<MachineRunContextOptions, 'log' | 'cancel'> {
  readonly cancel: (request: CancelRequest) => Promise<unknown>
  /** How long a child that is left behind may take to end. */
  readonly graceMs: number
}

export function runServices(
  options: RunServicesOptions,
): Pick<RunServices, 'checkin' | 'log' | 'saveStep' | 'refusal' | 'machineContext'> {
  const { graceMs } = options
  const signs = runReports(options)
  const forSeats: MachineRunContextOptions = {
    ...options,
    log: (run, message) => signs.log(run, message),
    cancel: (id) => options.cancel({ selection: { ids: [id] }, reason: 'its parent has left it', graceMs }),
  }
  return { ...signs, machineContext: (run, input) => machineRunContext(run, input, forSeats) }
}
