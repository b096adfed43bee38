/** The services of runs: reports and steps for handlers, the run context for machines. */
import type { Logger } from '../core/logger.ts'
import type { CancelRequest } from '../store.ts'
import type { RunServices } from './attempt.ts'
import { WorkerRunContext, type MachineRunContextOptions } from './machine-run-context.ts'
import { runEnds } from './run-ends.ts'
import { runReports } from './run-reports.ts'
import type { WritesInTransactions } from './writes-in-transactions.ts'

interface RunServicesOptions extends Omit<MachineRunContextOptions, 'log' | 'cancel'> {
  readonly cancel: (request: CancelRequest) => Promise<unknown>
  readonly inTransactions: WritesInTransactions
  readonly logger: Logger
}

export function runServices(
  options: RunServicesOptions,
): Pick<
  RunServices,
  'checkin' | 'log' | 'saveStep' | 'refusal' | 'complete' | 'fail' | 'snooze' | 'within' | 'machineContext'
> {
  const reports = runReports(options)
  const machineOptions: MachineRunContextOptions = {
    ...options,
    log: (run, message) => reports.log(run, message),
    cancel: (id) => options.cancel({ ids: [id], reason: 'its parent has left it', graceMs: null }),
  }
  return {
    ...reports,
    ...runEnds(options),
    machineContext: (run, input) => new WorkerRunContext(run, input, machineOptions),
  }
}
