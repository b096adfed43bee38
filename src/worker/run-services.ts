/** What runs are given besides their job: signs of life for handlers, a seat for machines. */
import type { CancelRequest } from '../store.ts'
import type { RunHost } from './run.ts'
import { seatOf, type SeatOptions } from './seat.ts'
import { signsOfLife } from './signs.ts'

export interface RunServicesOptions extends Omit<SeatOptions, 'log' | 'cancel'> {
  readonly cancel: (request: CancelRequest) => Promise<unknown>
  /** How long a child that is left behind may take to end. */
  readonly graceMs: number
}

export function runServices(
  options: RunServicesOptions,
): Pick<RunHost, 'checkin' | 'log' | 'saveStep' | 'refusal' | 'seat'> {
  const { graceMs } = options
  const signs = signsOfLife(options)
  const forSeats: SeatOptions = {
    ...options,
    log: (run, message) => signs.log(run, message),
    cancel: (id) => options.cancel({ selection: { ids: [id] }, reason: 'its parent has left it', graceMs }),
  }
  return { ...signs, seat: (run, input) => seatOf(run, input, forSeats) }
}
