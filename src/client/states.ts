/** The states of a live chart as a stream: the current one, then each new one; completes when the chart is final. */
import type { AnyActorRef } from 'xstate'
import type { Logger } from '../core/logger.ts'
import type { Stream } from '../core/stream.ts'
import { GuardedStream } from './stream.ts'

interface Chart<S> {
  getSnapshot(): { readonly value: S; readonly status: string }
  subscribe: AnyActorRef['subscribe']
}

export const statesOf = <S>(chart: Chart<S>, logger: Logger): Stream<S> =>
  new GuardedStream(logger, (subscriber) => {
    let last = chart.getSnapshot().value
    subscriber.next(last)
    const subscription = chart.subscribe({
      next: () => {
        const { value } = chart.getSnapshot()
        if (value !== last) subscriber.next((last = value))
      },
      complete: () => subscriber.complete(),
    })
    if (chart.getSnapshot().status !== 'active') subscriber.complete()
    return () => subscription.unsubscribe()
  })
