/** The jobs that machines of a storm invoke: one that works, and one that is a machine and waits. */
import { defineJob, exponential, fatal, type RunContext } from 'jobchart'
import { setup } from 'xstate'
import { sleep } from '../../harness/sleep.ts'

export interface LegInput {
  readonly ms: number
  /** Does it fail for good? */
  readonly dies: boolean
}

const retry = { maxAttempts: 6, backoff: exponential({ base: 50, max: 500 }) }

export const leg = defineJob<LegInput, number>({
  type: 'leg',
  retry,
  run: async ({ ms, dies }: LegInput, { signal, checkin }: RunContext) => {
    checkin({ left: 1 })
    await sleep(ms / 2, signal)
    if (dies) throw fatal(new Error('this leg dies'))
    if (Math.random() < 0.1) throw new Error('now and then')
    checkin({ left: 0 })
    await sleep(ms / 2, signal)
    return ms
  },
})

const waiting = setup({
  types: { context: {} as { readonly ms: number }, input: {} as LegInput, output: {} as number },
  delays: { while: ({ context }) => context.ms },
}).createMachine({
  id: 'waiting-leg',
  context: ({ input }) => ({ ms: input.ms }),
  initial: 'waiting',
  states: { waiting: { after: { while: 'over' } }, over: { type: 'final' } },
  output: ({ context }) => context.ms,
})

export const waitingLeg = defineJob({ type: 'waiting-leg', machine: waiting, retry })
