/** A cancel ends a machine at once, or, where the machine takes it as an event, lets it make good what it has done. */
import { defineJob } from 'jobchart'
import { fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'
import { begunIn, didIn, prove } from './support/prove.ts'
import type { Teller } from './support/lives.ts'

/** Books, waits for a while or an event, and on its way back gives the booking back. */
const booking = (tell: Omit<Teller, 'did'> & { did: (what: string) => void }) =>
  setup({
    types: { events: {} as { type: 'job.cancel'; reason: string | null } | { type: 'CLOSE' } | { type: 'GO' } },
    actions: { why: (_, { reason }: { reason: string }) => tell.did(`why ${reason}`) },
    actors: {
      work: fromPromise<void, string>(async ({ input, self, signal }) => {
        tell.begun(self)
        tell.did(`work ${input}`)
        await tell.clock.sleep('3s', signal)
      }),
    },
  }).createMachine({
    id: 'booking',
    initial: 'booking',
    states: {
      booking: { invoke: { src: 'work', input: 'book', onDone: 'booked' } },
      booked: {
        on: {
          'job.cancel': {
            target: 'undoing',
            actions: { type: 'why', params: ({ event }) => ({ reason: String(event.reason) }) },
          },
          CLOSE: 'closed',
          GO: 'going',
        },
      },
      going: {
        invoke: { src: 'work', input: 'go', onDone: 'booked' },
        on: { 'job.cancel': 'undoing' },
      },
      undoing: { tags: ['undoing'], invoke: { src: 'work', input: 'undo', onDone: 'undone' } },
      undone: { type: 'final' },
      closed: { after: { 60_000: 'undone' } },
    },
    output: 'undone',
  })

async function begin(at: World) {
  const did: string[] = []
  const tell = { did: (what: string) => void did.push(what), begun: () => {}, clock: at.clock }
  const job = defineJob({ type: 'booking', machine: booking(tell) })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  return { runtime, handle, did }
}

test('a parked job that does not take a cancel is cancelled at once', async () => {
  const at = world()
  const { handle } = await begin(at)
  await at.clock.advance('4s')
  await handle.send({ type: 'CLOSE' })
  await at.clock.advance('1s')
  expect((await handle.record()).state).toBe('waiting')
  expect((await handle.cancel({ reason: 'enough' })).cancelled).toEqual([handle.id])
  await expect(handle.result()).rejects.toMatchObject({ name: 'JobCancelledError' })
})

test('a parked job that takes it makes good what it has done, and ends cancelled', async () => {
  const at = world()
  const { handle, did } = await begin(at)
  await at.clock.advance('4s')
  expect((await handle.cancel({ reason: 'too late' })).cancelling).toEqual([handle.id])
  await at.clock.advance('4s')
  expect(did).toEqual(['work book', 'why too late', 'work undo'])
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'too late' })
})

test('a running one does likewise, and a second cancel ends it at once', async () => {
  const at = world()
  const { handle, did } = await begin(at)
  await at.clock.advance('4s')
  await handle.send({ type: 'GO' })
  await at.clock.advance('1s')
  await handle.cancel()
  await at.clock.advance('1s')
  expect(did).toEqual(['work book', 'work go', 'work undo'])
  expect((await handle.record()).state).toBe('running')
  await handle.cancel({ reason: 'at once' })
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'at once' })
})

test('a running one that does not take it is aborted', async () => {
  const at = world()
  const { handle, did } = await begin(at)
  await at.clock.advance('1s')
  await handle.cancel()
  await at.clock.settle()
  expect(did).toEqual(['work book'])
  expect((await handle.record()).state).toBe('cancelled')
})

test('a cancel that finds the machine gone on to where it does not take it ends the job all the same', async () => {
  const at = world()
  const { runtime, handle, did } = await begin(at)
  await at.clock.advance('4s')
  await runtime.pause()
  await handle.send({ type: 'CLOSE' })
  await handle.cancel({ reason: 'crossed' })
  await runtime.resume()
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'crossed' })
  expect(did).toEqual(['work book'])
})

test('what is made good is made good through every crash', async () => {
  const { state, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'booking',
        machine: booking({ ...tell, did: (what) => what.startsWith('why') && tell.did(what) }),
        retry: { maxAttempts: 9 },
      }),
    ],
    drive: async ({ job, until }) => {
      await until('booked')
      await job.cancel({ reason: 'enough' })
    },
  })
  expect(state).toBe('cancelled')
  expect(didIn(told)).toEqual(['why enough'])
  expect(begunIn(told)).toEqual(['0.booking.booking/1', '0.booking.undoing/1'])
})
