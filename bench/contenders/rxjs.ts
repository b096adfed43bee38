/** A Subject and mergeMap: what one writes with RxJS alone. */
import { lastValueFrom, mergeMap, Subject } from 'rxjs'
import type { Contender, Handler, Input } from '../contender.ts'

export const contender: Contender = {
  prepare({ jobs, handlers, slots }) {
    const queue = new Subject<{ readonly type: number; readonly input: Input }>()
    const ran = queue.pipe(mergeMap(({ type, input }) => (handlers[type] as Handler)(input), slots))
    return {
      async run() {
        const all = lastValueFrom(ran, { defaultValue: undefined })
        for (let i = 0; i < jobs; i++) queue.next({ type: i % handlers.length, input: { i } })
        queue.complete()
        await all
      },
    }
  },
}
