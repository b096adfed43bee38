import { systemClock } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'

/** What a call gives; or the error of `late`, if it has given nothing within so many ms. The call goes on. */
export function withinTime<T>(call: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.timer(() => reject(late()), ms, { keepAlive: false })
    call.then(resolve, reject).finally(() => timer.cancel())
  })
}

/** Time limit of an answer, ms; it does not apply to the live stream. */
const answerMsMax = 30_000

/** What a call gives within the time of an answer. @throws JobchartError TIMEOUT */
export const answered = <T>(call: Promise<T>, hint = 'Does the store answer?'): Promise<T> =>
  withinTime(call, answerMsMax, () => new JobchartError('TIMEOUT', `no answer within ${answerMsMax} ms`, { hint }))
