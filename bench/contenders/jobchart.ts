/** Us: a runtime with default options, the memory store, and the whole life of a job. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Contender, Input } from '../contender.ts'
import { verifyAtMost, verifyEqual } from '../harness/ledger.ts'

export interface JobchartOptions {
  /** Count all events? */
  readonly observed?: boolean
  /** So many subscribers, each to the events of one job that waits for its time and takes no part in the work. */
  readonly strangers?: number
}

/** ENQUEUE, CLAIM and COMPLETE. */
const eventsPerJob = 3

export const contender: Contender<JobchartOptions> = {
  async prepare({ jobs, handlers, slots }, { observed = false, strangers = 0 }) {
    const types = handlers.map((run, i) => defineJob<Input, void>({ type: `type-${i}`, run }))
    const stranger = defineJob<Input, void>({ type: 'stranger', run: async () => {} })
    const runtime = createRuntime({ jobs: [...types, stranger], concurrency: slots })
    await runtime.start()
    for (let i = 0; i < strangers; i++) {
      const job = await runtime.enqueue(stranger, { i }, { delay: '1d' })
      job.events$.subscribe(() => {})
    }
    let events = 0
    if (observed) runtime.events$.subscribe(() => events++)
    return {
      async run() {
        const kept: Promise<unknown>[] = []
        for (let i = 0; i < jobs; i++) {
          const type = types[i % types.length]
          if (type !== undefined) kept.push(runtime.enqueue(type, { i }))
        }
        await Promise.all(kept)
        await runtime.drain()
      },
      async end() {
        if (observed) verifyEqual('events', events, jobs * eventsPerJob)
        const { queued, running, done } = await runtime.counts()
        verifyEqual('jobs left', queued + running, 0)
        // The rest was kept until retention had let it go: it looks after every 500 jobs that have ended. Of each type
        // it keeps 10,000, and 5,000 more in their first minute.
        verifyAtMost('finished jobs kept', done, types.length * 15_500)
        verifyAtMost('finished jobs not kept', Math.min(jobs, 10_000) - done, 0)
        await runtime.stop()
      },
    }
  },
}
