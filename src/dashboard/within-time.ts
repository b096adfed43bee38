import { systemClock } from '../core/clock.ts'

/** What a call gives; or the error of `late`, if it has given nothing within so many ms. The call goes on. */
export function withinTime<T>(call: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = systemClock.timer(() => reject(late()), ms, { keepAlive: false })
    call.then(resolve, reject).finally(() => timer.cancel())
  })
}
