/** How long a cancelled handler may take to end. */
import { createClient, defineJob, type CancelOptions, type Client } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

/** Cancels a job whose handler ignores its signal. @returns its state 19 s later, and a second after that */
async function statesAfter(from: 'client' | 'another runtime' | 'its runtime', options?: CancelOptions) {
  const { clock, store, runtime, idle } = world()
  const stubborn = defineJob({ type: 'stubborn', run: () => clock.sleep('1m') })
  const worker = await runtime({ jobs: [stubborn], grace: '20s' })
  const callers: Record<typeof from, Client> = {
    client: createClient({ store, clock }),
    'another runtime': idle({ jobs: [], grace: '1s' }),
    'its runtime': worker,
  }
  const one = await worker.enqueue(stubborn)
  const other = await worker.enqueue(stubborn)
  await clock.settle()
  await callers[from].cancel(one.id, options)
  await callers[from].cancel({ type: 'stubborn' }, options)
  const states = async () => [await one.record(), await other.record()].map(({ state }) => state)
  await clock.advance('19s')
  const before = await states()
  await clock.advance('1s')
  const after = await states()
  await clock.advance('1m')
  return [before, after]
}

const cancelling = ['cancelling', 'cancelling']
const cancelled = ['cancelled', 'cancelled']

test.each(['client', 'another runtime', 'its runtime'] as const)(
  'a cancel of %s leaves a handler the grace of the runtime that runs it, by id and by filter',
  async (from) => {
    expect(await statesAfter(from)).toEqual([cancelling, cancelled])
  },
)

test.each(['client', 'another runtime', 'its runtime'] as const)(
  'a cancel of %s may say another grace',
  async (from) => {
    expect(await statesAfter(from, { grace: '10s' })).toEqual([cancelled, cancelled])
    expect(await statesAfter(from, { grace: '30s' })).toEqual([cancelling, cancelling])
  },
)
