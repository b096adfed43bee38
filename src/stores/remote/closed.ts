/** A store on a server that is closed while calls are under way. */
import { JobchartError } from '../../core/errors.ts'

/** Of a call that was sent, and whose answer is not awaited any more. */
export const closedMeanwhile = (where: string, cause?: unknown): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${where}: the store was closed before this call was answered`, {
    hint: 'A closed client, and a stopped runtime, closes its store. The call may have been carried out; it may be repeated by another client.',
    ...(cause !== undefined && { cause }),
  })
