/** Numbers of jobs by the states and tags of their machines: changed by the write that changes the job. */
import assert from 'node:assert/strict'
import type { NewCheckpoint } from '../../core/machine-record.ts'
import type { Store } from '../../store.ts'
import {
  boom,
  cancel,
  idsOf,
  lease,
  newJob,
  park,
  prune,
  put,
  putAndTake,
  recordOf,
  plainCheckpoint,
  takeOne,
  write,
} from './acts.ts'
import type { Cases } from './subject.ts'

const at = (number: number, states: readonly string[], tags: readonly string[] = []): NewCheckpoint => ({
  ...plainCheckpoint(number),
  states,
  tags,
})

async function isCounted(
  store: Store,
  states: Readonly<Record<string, number>>,
  tags: Readonly<Record<string, number>> = {},
  type = 'mail',
): Promise<void> {
  const counts = await store.machineCounts(type)
  assert.deepEqual({ states: { ...counts.states }, tags: { ...counts.tags } }, { states, tags })
}

const none = { ageMs: 0, count: 0 }

export const machineCountCases: Cases = {
  'jobs of a type are counted by the states and tags of their last checkpoint': async ({ store }) => {
    await isCounted(store, {})
    const a = await putAndTake(store, 'a')
    const b = await putAndTake(store, 'b')
    const c = await putAndTake(store, 'c', { type: 'sms' })
    await put(store, newJob('d'))
    await isCounted(store, {})
    await store.checkpoint([
      { ...lease(a), checkpoint: at(1, ['paid', 'paid.shipping'], ['open']) },
      { ...lease(b), checkpoint: at(1, ['paid', 'paid.waiting'], ['open', 'urgent']) },
      { ...lease(c), checkpoint: at(1, ['paid'], ['open']) },
    ])
    await isCounted(store, { paid: 2, 'paid.shipping': 1, 'paid.waiting': 1 }, { open: 2, urgent: 1 })
    await isCounted(store, { paid: 1 }, { open: 1 }, 'sms')
    await write(store, a, at(2, ['paid', 'paid.waiting']))
    // The same checkpoint again is no other.
    await write(store, a, at(2, ['refused']))
    await isCounted(store, { paid: 2, 'paid.waiting': 2 }, { open: 1, urgent: 1 })
    await store.settle([{ ...lease(b), event: 'PARK', to: 'waiting', checkpoint: at(2, ['refused']) }])
    await isCounted(store, { paid: 1, 'paid.waiting': 1, refused: 1 })
    await write(store, a, plainCheckpoint(3))
    await isCounted(store, { refused: 1 })
    await isCounted(store, {}, {}, 'never seen')
  },
  'names of states and tags may be those of members of objects': async ({ store }) => {
    const job = await putAndTake(store, 'a')
    const names = ['__proto__', 'constructor', 'a:b']
    await write(store, job, at(1, names, names))
    const { states, tags } = await store.machineCounts('mail')
    const expected = new Map(names.map((name) => [name, 1]))
    assert.deepEqual([new Map(Object.entries(states)), new Map(Object.entries(tags))], [expected, expected])
  },
  'machines that are done are counted by how they ended, also when their jobs are removed': async ({ store }) => {
    const outcomes = async (type = 'mail') => ({ ...(await store.machineCounts(type)).outcomes })
    const end = async (id: string, outcome: string, type = 'mail'): Promise<void> => {
      const job = await putAndTake(store, id, { type })
      await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done', outcome, checkpoint: at(1, [outcome]) }])
    }
    assert.deepEqual(await outcomes(), {})
    await end('a', 'paid')
    await end('b', 'closed (declined)')
    await end('c', 'paid')
    await end('d', 'paid', 'sms')
    assert.deepEqual([await outcomes(), await outcomes('sms')], [{ paid: 2, 'closed (declined)': 1 }, { paid: 1 }])
    await isCounted(store, {})
    const repeated = await putAndTake(store, 'e')
    const settlement = { ...lease(repeated), event: 'COMPLETE', to: 'done', outcome: 'paid' } as const
    await store.settle([settlement])
    await store.settle([settlement])
    await store.discard(['a', 'b'])
    // A cancel that was committed first: the job has not ended as its machine did.
    const late = await putAndTake(store, 'f')
    await cancel(store, ['f'])
    await store.settle([{ ...lease(late), event: 'COMPLETE', to: 'done', outcome: 'paid' }])
    assert.deepEqual(await outcomes(), { paid: 3, 'closed (declined)': 1 })
  },
  'a job that ends is no longer counted, and one that is retried is counted again': async ({ store }) => {
    const [a, b, c] = [await putAndTake(store, 'a'), await putAndTake(store, 'b'), await putAndTake(store, 'c')]
    for (const job of [a, b, c]) await write(store, job, at(1, ['paid'], ['open']))
    await store.settle([{ ...lease(a), event: 'COMPLETE', to: 'done', checkpoint: at(2, ['shipped'], ['open']) }])
    await isCounted(store, { paid: 2 }, { open: 2 })
    await store.settle([{ ...lease(b), event: 'FAIL', to: 'dead', fatal: true, error: boom }])
    await isCounted(store, { paid: 1 }, { open: 1 })
    await park(store, c)
    await cancel(store, ['c'])
    await isCounted(store, {})
    await store.retry(['b', 'c'])
    await isCounted(store, { paid: 2 }, { open: 2 })
    await cancel(store, ['b', 'c'])
    await store.retry(['b'], true)
    await isCounted(store, {})
    const again = await takeOne(store, { token: 't2' })
    await write(store, again, at(1, ['paid']))
    await prune(store, { done: none, dead: none, cancelled: none }, 100)
    await isCounted(store, { paid: 1 })
  },
  'a parked job is listed and counted by the states that a deployment gives it, and nothing else of it changes':
    async ({ store }) => {
      const [a, b, c] = [await putAndTake(store, 'a'), await putAndTake(store, 'b'), await putAndTake(store, 'c')]
      for (const job of [a, b, c]) await write(store, job, at(1, ['paid', 'paid.shipping'], ['open']))
      for (const job of [a, b]) await park(store, job)
      const before = await recordOf(store, 'a')
      const standing = { states: ['paid', 'paid.packed'], tags: ['late'], takesCancel: false }
      const request = (id: string, checkpoint = 1) => ({ id, checkpoint, standing, unsupported: null })
      const answers = await store.reindex([request('a'), request('b', 2), request('c'), request('d')])
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ['kept', 'changed', 'changed', 'notFound'],
      )
      await isCounted(store, { paid: 3, 'paid.shipping': 2, 'paid.packed': 1 }, { open: 2, late: 1 })
      assert.deepEqual(idsOf(await store.list({ machineState: 'paid.packed' })), ['a'])
      assert.deepEqual(idsOf(await store.list({ machineTag: 'open' })), ['b', 'c'])
      const { states: machineStates, tags: machineTags } = standing
      assert.deepEqual(await recordOf(store, 'a'), { ...before, machineStates, machineTags })
      await store.reindex([{ ...request('a'), standing: null }])
      assert.deepEqual((await recordOf(store, 'a')).machineStates, machineStates)
      await cancel(store, ['a'])
      assert.deepEqual((await store.reindex([request('a')]))[0]?.outcome, 'changed')
      await isCounted(store, { paid: 2, 'paid.shipping': 2 }, { open: 2 })
    },
  'a checkpoint that is not written is not counted': async ({ store, advance }) => {
    const job = await putAndTake(store, 'a')
    await write(store, job, at(1, ['paid']))
    await store.checkpoint([
      { ...lease(job), token: 'stolen', checkpoint: at(2, ['refused']) },
      { ...lease(job), checkpoint: at(4, ['refused']) },
    ])
    await store.settle([{ ...lease(job), event: 'PARK', to: 'waiting', checkpoint: at(4, ['refused']) }])
    await isCounted(store, { paid: 1 })
    await advance(30_000)
    await store.rescue(10)
    await isCounted(store, { paid: 1 })
  },
}
