/** p-queue, with a priority per type or without. */
import type { Contender, Handler, Work } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'

interface PQueue {
  readonly default: new (options: { concurrency: number }) => {
    add(task: () => Promise<void>, options?: { readonly priority: number }): Promise<void>
    onIdle(): Promise<void>
  }
}

export interface PQueueOptions {
  readonly priorities: boolean
}

export const contender: Contender<PQueueOptions> = {
  async prepare({ jobs, handlers, slots }: Work, { priorities }) {
    const { default: Queue } = await importPeer<PQueue>('p-queue')
    const queue = new Queue({ concurrency: slots })
    return {
      async run() {
        const kept: Promise<void>[] = []
        for (let i = 0; i < jobs; i++) {
          const type = i % handlers.length
          const task = (): Promise<void> => (handlers[type] as Handler)({ i })
          kept.push(priorities ? queue.add(task, { priority: type }) : queue.add(task))
        }
        await Promise.all(kept)
        await queue.onIdle()
      },
    }
  },
}
