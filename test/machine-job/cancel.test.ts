/** A cancel ends a machine at once, or, where the machine takes it as an event, lets it make good what it has done. */
import { defineJob, type MachineView } from 'jobchart'
import { toGraph } from 'jobchart/chart'
import { fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { eventsOf } from '../../src/dashboard/machine-shown.ts'
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

test('a cancel that finds the machine gone on waits for a state that takes it, and a second one ends the job', async () => {
  const at = world()
  const { runtime, handle, did } = await begin(at)
  await at.clock.advance('4s')
  await runtime.pause()
  await handle.send({ type: 'CLOSE' })
  expect((await handle.cancel({ reason: 'crossed' })).cancelling).toEqual([handle.id])
  await runtime.resume()
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'waiting', cancelReason: 'crossed' })
  expect((await handle.cancel({ reason: 'at once' })).cancelled).toEqual([handle.id])
  expect(did).toEqual(['work book'])
})

test('a cancel that nobody has read is forgotten by a retry, and another one is taken', async () => {
  const at = world()
  const { runtime, handle, did } = await begin(at)
  await at.clock.advance('4s')
  await runtime.pause()
  await handle.cancel({ reason: 'first' })
  await handle.cancel({ reason: 'at once' })
  await handle.retry()
  // What is asked before it goes on knows that, too.
  expect(await handle.can({ type: 'GO' })).toBe(true)
  await runtime.resume()
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'waiting', machineStates: ['booked'], inbox: [] })
  await handle.cancel({ reason: 'again' })
  await at.clock.advance('4s')
  expect(did).toEqual(['work book', 'why again', 'work undo'])
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'again' })
})

const byEvent = { type: 'job.cancel', reason: 'by event' } as const

test('the event of a cancel, sent as any event, is a cancel: the job ends cancelled, with its reason', async () => {
  const at = world()
  const { handle, did } = await begin(at)
  await at.clock.advance('4s')
  expect(await handle.can(byEvent)).toBe(true)
  await handle.send(byEvent)
  await at.clock.advance('4s')
  expect(did).toEqual(['work book', 'why by event', 'work undo'])
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'by event' })
})

test('where no state names it, the event of a cancel is refused, and cancels nothing', async () => {
  const at = world()
  const { handle } = await begin(at)
  await at.clock.advance('4s')
  await handle.send({ type: 'CLOSE' })
  await at.clock.advance('1s')
  expect(await handle.can(byEvent)).toBe(false)
  for (const accept of ['now', 'later', 'always'] as const) {
    await expect(handle.send(byEvent, { accept })).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  }
  expect(await handle.record()).toMatchObject({ state: 'waiting', inbox: [], cancelReason: null })
})

test('the event of a cancel is not listed among the events that may be sent', async () => {
  const at = world()
  const { handle } = await begin(at)
  await at.clock.advance('4s')
  const chart = booking({ did: () => {}, begun: () => {}, clock: at.clock })
  const listed = eventsOf(toGraph(chart), ['booked'], (await handle.snapshot()) as unknown as MachineView)
  expect(listed.map(({ type }) => type).toSorted()).toEqual(['CLOSE', 'GO'])
})

/** Charges, where it takes a cancel; is charged then, where it does not; and comes to where it does, or to its end. */
const paying = (charge: () => Promise<void>, charged: { always?: 'paid'; after?: { 60_000: 'open' } }) =>
  setup({
    types: { events: {} as { type: 'job.cancel'; reason: string | null } },
    actors: { charge: fromPromise(charge) },
  }).createMachine({
    initial: 'charging',
    states: {
      charging: { invoke: { src: 'charge', onDone: 'charged' }, on: { 'job.cancel': 'releasing' } },
      charged,
      open: { on: { 'job.cancel': 'releasing' } },
      releasing: { after: { 1_000: 'released' } },
      released: { type: 'final' },
      paid: { type: 'final' },
    },
    output: 'paid',
  })

/** A job whose charge resolves in the very turn in which its cancel is acknowledged. */
async function cancelledWithTheLastStep(charged: { always?: 'paid'; after?: { 60_000: 'open' } }) {
  const at = world()
  const { promise, resolve } = Promise.withResolvers<void>()
  const job = defineJob({ type: 'paying', machine: paying(() => promise, charged) })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.advance('1s')
  const cancel = at.store.cancel([{ ids: [handle.id], reason: 'too late', graceMs: 0 }])
  resolve()
  expect((await cancel)[0]?.cancelling).toEqual([handle.id])
  await at.clock.settle()
  return { handle, at }
}

test('a cancel that comes with the last step is too late: the job is done', async () => {
  const { handle } = await cancelledWithTheLastStep({ always: 'paid' })
  expect(await handle.record()).toMatchObject({ state: 'done', output: 'paid', cancelReason: 'too late' })
})

test('a cancel that comes with a step to where none is taken is taken in the next state that does, also after a restart', async () => {
  const { handle, at } = await cancelledWithTheLastStep({ after: { 60_000: 'open' } })
  expect(await handle.record()).toMatchObject({ state: 'waiting' })
  expect((await handle.snapshot()).value).toBe('charged')
  await at.clock.advance('60s')
  expect((await handle.snapshot()).value).toBe('releasing')
  await at.clock.advance('1s')
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'too late' })
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
