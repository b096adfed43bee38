/** The jobs of the storm: what they are, and how they are limited. Producers enqueue them, workers run them. */
import { constant, defineJob, exponential, snooze, type JobDefinition, type RunContext } from 'jobchart'
import { sleep } from '../harness/sleep.ts'

export interface Input {
  /** How long it takes. */
  readonly ms: number
  /** Whose it is, for the cap per key. */
  readonly tenant: string
}

/** Attempts after which poison is dead, one type for each: a process dies for every attempt. */
export const poisonAttempts = [1, 2, 3] as const
export const poisonType = (maxAttempts: number): string => `poison-${maxAttempts}`

/** The queue that producers pause. */
export const pausable = 'pausable'

const retry = { maxAttempts: 6, backoff: exponential({ base: 50, max: 500 }) }

/** Two steps, of which the first is not done again by a later attempt, and work beside them. */
async function work({ ms }: Input, { signal, attempt, step }: RunContext): Promise<number> {
  await step('first', () => sleep(ms / 3, signal))
  await step('second', () => sleep(ms / 3, signal))
  await sleep(ms / 3, signal)
  const fate = Math.random()
  if (fate < 0.03) throw new Error('now and then')
  if (fate < 0.04) throw snooze(100)
  return attempt
}

/** Takes its process with it. */
async function poison(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  // A signal to oneself may take a moment.
  return new Promise(() => {})
}

export const definitions: readonly JobDefinition<Input, number>[] = [
  defineJob<Input, number>({ type: 'quick', retry, run: work }),
  defineJob<Input, number>({ type: 'long', weight: 2, retry, run: work }),
  defineJob<Input, number>({ type: pausable, retry, run: work }),
  defineJob<Input, number>({ type: 'capped', concurrency: 2, retry, run: work }),
  defineJob<Input, number>({ type: 'keyed', concurrencyKey: ({ tenant }) => tenant, perKey: 1, retry, run: work }),
  defineJob<Input, number>({ type: 'rated', rateLimit: { limit: 5, per: '500ms' }, retry, run: work }),
  ...poisonAttempts.map((maxAttempts) =>
    defineJob<Input, number>({
      type: poisonType(maxAttempts),
      retry: { maxAttempts, backoff: constant(50) },
      run: poison,
    }),
  ),
]
