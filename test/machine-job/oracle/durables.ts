/** Durable promises that a machine invokes: attempts, backoffs and steps. */
import { constant, durable, fatal } from 'jobchart'
import type { AnyActorLogic } from 'xstate'
import type { Config, Workshop } from './chart.ts'
import type { Case } from './lives-twice.ts'

const working = (more: object = {}): Config => ({
  initial: 'a',
  states: {
    a: {
      exit: 'out-a',
      invoke: {
        id: 'w',
        src: 'work',
        onDone: { target: 'b', actions: 'done' },
        onError: { target: 'c', actions: 'failed' },
        ...more,
      },
      on: { LEAVE: 'd' },
    },
    b: { entry: 'in-b' },
    c: { entry: 'in-c' },
    d: { entry: 'in-d', on: { BACK: 'a' } },
  },
})

/** Work of 100 ms, then what `settle` makes of an attempt. */
const work = (make: Workshop, settle: (attempt: number) => unknown, timeout?: number): AnyActorLogic =>
  durable<unknown, unknown>(
    async ({ attempt, input, signal, step }) => {
      make.work(`attempt ${attempt} ${JSON.stringify(input)}`)
      await make.sleep(100, signal)
      const first = await step('first', () => {
        make.work('first')
        return attempt
      })
      return [first, settle(attempt)]
    },
    {
      retry: { maxAttempts: 3, backoff: constant('5s'), retryIf: (error) => !String(error).includes('refused') },
      ...(timeout !== undefined && { timeout }),
    },
  )

function fail(error: unknown): never {
  throw error
}

const failing =
  (times: number) =>
  (attempt: number): unknown =>
    attempt <= times ? fail(new Error(`no ${attempt}`)) : attempt

export const durables: readonly Case[] = [
  {
    name: 'one that succeeds at once',
    chart: working({ input: { n: 1 } }),
    with: (make) => ({ actors: { work: work(make, failing(0)) } }),
    steps: [20_000],
  },
  {
    name: 'one that succeeds the third time',
    chart: working({ input: { n: 1 } }),
    with: (make) => ({ actors: { work: work(make, failing(2)) } }),
    steps: [20_000],
  },
  {
    name: 'one that fails each time',
    chart: working(),
    with: (make) => ({ actors: { work: work(make, failing(3)) } }),
    steps: [20_000],
  },
  {
    name: 'one that fails for good',
    chart: working(),
    with: (make) => ({ actors: { work: work(make, () => fail(fatal('gone'))) } }),
    steps: [20_000],
  },
  {
    name: 'an error that is not worth another attempt',
    chart: working(),
    with: (make) => ({ actors: { work: work(make, () => fail(new Error('refused'))) } }),
    steps: [20_000],
  },
  {
    name: 'a state that is left while it waits, and entered again',
    chart: working(),
    with: (make) => ({ actors: { work: work(make, failing(1)) } }),
    steps: [2_500, 'LEAVE', 20_000, 'BACK', 20_000],
  },
  {
    name: 'a state that is left while it waits, and not entered again',
    chart: working(),
    with: (make) => ({ actors: { work: work(make, failing(3)) } }),
    steps: [2_500, 'LEAVE', 20_000],
  },
  {
    name: 'attempts that take too long',
    chart: working(),
    with: (make) => ({
      actors: {
        work: durable<unknown, unknown>(
          async ({ attempt, signal }) => {
            make.work(`attempt ${attempt}`)
            signal.addEventListener('abort', () => make.work('aborted'))
            await make.sleep(attempt < 3 ? 60_000 : 100, signal)
            return attempt
          },
          { retry: { backoff: constant('5s') }, attemptTimeout: '10s' },
        ),
      },
    }),
    steps: [50_000],
  },
  {
    name: 'each attempt is told to who listens to its snapshots',
    chart: working({ onSnapshot: { actions: 'seen' } }),
    with: (make) => ({ actors: { work: work(make, failing(2)) } }),
    steps: [20_000],
    cutDiffers: 'firstAttemptAgain',
  },
]
