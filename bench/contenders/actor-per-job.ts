/** A live XState actor of our own chart per job, without any queue: the plain way to make every job a statechart. */
import { createActor } from 'xstate'
import { jobMachine } from '../../machines/job.machine.ts'
import type { Contender } from '../contender.ts'
import { verifyEqual } from '../harness/ledger.ts'

export const contender: Contender = {
  prepare({ jobs, handlers, slots }) {
    let next = 0
    let done = 0
    const one = async (i: number): Promise<void> => {
      const actor = createActor(jobMachine).start()
      actor.send({ type: 'CLAIM' })
      await handlers[i % handlers.length]?.({ i })
      actor.send({ type: 'COMPLETE' })
      if (actor.getSnapshot().matches('done')) done++
    }
    const slot = async (): Promise<void> => {
      while (next < jobs) await one(next++)
    }
    return {
      async run() {
        await Promise.all(Array.from({ length: slots }, slot))
      },
      async end() {
        verifyEqual('actors in their final state', done, jobs)
      },
    }
  },
}
