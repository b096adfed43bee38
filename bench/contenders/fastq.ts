/** fastq with promises: the fastest in-memory queue we know. */
import type { Contender, Handler, Input } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'

interface Task {
  readonly type: number
  readonly input: Input
}

interface Fastq {
  readonly default: {
    promise(worker: (task: Task) => Promise<void>, concurrency: number): { push(task: Task): Promise<void> }
  }
}

export const contender: Contender = {
  async prepare({ jobs, handlers, slots }) {
    const fastq = await importPeer<Fastq>('fastq')
    const queue = fastq.default.promise(({ type, input }) => (handlers[type] as Handler)(input), slots)
    return {
      async run() {
        const kept: Promise<void>[] = []
        for (let i = 0; i < jobs; i++) kept.push(queue.push({ type: i % handlers.length, input: { i } }))
        await Promise.all(kept)
      },
    }
  },
}
