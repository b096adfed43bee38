/** The heat of charts: numbers by name, added in the write of the checkpoint that tells them. */
import assert from 'node:assert/strict'
import type { HeatPeriod, NewCheckpoint, Store } from '../../store.ts'
import { lease, newJob, plainCheckpoint, put, putAndTake, takeOne, write } from './acts.ts'
import type { Cases } from './subject.ts'

const counting = (number: number, heat: NonNullable<NewCheckpoint['heat']>): NewCheckpoint => ({
  ...plainCheckpoint(number),
  heat,
})

async function isCounted(
  store: Store,
  expected: readonly (readonly [name: string, count: number, lastId: string])[],
  { type = 'mail', period = 'day' }: { readonly type?: string; readonly period?: HeatPeriod } = {},
): Promise<void> {
  const { counts } = await store.heat({ type, period })
  const found = counts.map(({ name, count, lastId }) => [name, [count, lastId]] as const)
  assert.deepEqual(new Map(found), new Map(expected.map(([name, ...rest]) => [name, rest])))
  assert.equal(counts.length, expected.length)
}

const hourMs = 3_600_000

export const heatCases: Cases = {
  'numbers are added to names, by type, with the job that has counted last': async ({ store }) => {
    await isCounted(store, [])
    const [a, b] = [await putAndTake(store, 'a'), await putAndTake(store, 'b')]
    const c = await putAndTake(store, 'c', { type: 'sms' })
    await store.checkpoint([
      {
        ...lease(a),
        checkpoint: counting(1, [
          ['x', 2],
          ['y', 1],
        ]),
      },
      { ...lease(b), checkpoint: counting(1, [['x', 3]]) },
      { ...lease(c), checkpoint: counting(1, [['x', 7]]) },
    ])
    await isCounted(store, [
      ['x', 5, 'b'],
      ['y', 1, 'a'],
    ])
    await isCounted(store, [['x', 7, 'c']], { type: 'sms' })
    await store.settle([{ ...lease(a), event: 'PARK', to: 'waiting', checkpoint: counting(2, [['x', 1]]) }])
    await store.settle([{ ...lease(b), event: 'COMPLETE', to: 'done', checkpoint: counting(2, [['z', 1]]) }])
    await isCounted(store, [
      ['x', 6, 'a'],
      ['y', 1, 'a'],
      ['z', 1, 'b'],
    ])
    await store.discard(['b'])
    await isCounted(store, [
      ['x', 6, 'a'],
      ['y', 1, 'a'],
      ['z', 1, 'b'],
    ])
    await isCounted(store, [], { type: 'never seen' })
  },
  'the same checkpoint again adds nothing, and one that is not written neither': async ({ store }) => {
    const a = await putAndTake(store, 'a')
    await write(store, a, counting(1, [['x', 1]]))
    await write(store, a, counting(1, [['x', 1]]))
    await store.checkpoint([
      { ...lease(a), token: 'stolen', checkpoint: counting(2, [['x', 1]]) },
      { ...lease(a), checkpoint: counting(4, [['x', 1]]) },
    ])
    const end = { ...lease(a), event: 'COMPLETE', to: 'done', checkpoint: counting(2, [['x', 1]]) } as const
    await store.settle([end])
    await store.settle([end])
    await isCounted(store, [['x', 2, 'a']])
  },
  'names may be any text': async ({ store }) => {
    const names = ['__proto__', 'constructor', 'a:b', '["1","s:\\"GO\\":0"]', 'ü 😀', ' ', '']
    const a = await putAndTake(store, 'a')
    await write(
      store,
      a,
      counting(
        1,
        names.map((name, i) => [name, i + 1]),
      ),
    )
    await isCounted(
      store,
      names.map((name, i) => [name, i + 1, 'a']),
    )
  },
  'an hour has the hour before, a day 24 hours before, a week 7 days before': async ({ store, advance }) => {
    // To the begin of the second hour of a day.
    const dayMs = 24 * hourMs
    await advance(dayMs + hourMs - (store.now() % dayMs))
    await put(store, newJob('a'))
    const a = await takeOne(store, { leaseMs: 30 * dayMs })
    let number = 0
    const count = (name: string): Promise<unknown> => write(store, a, counting(++number, [[name, 1]]))
    await count('first')
    await advance(hourMs)
    await count('second')
    await isCounted(
      store,
      [
        ['first', 1, 'a'],
        ['second', 1, 'a'],
      ],
      { period: 'hour' },
    )
    await advance(hourMs)
    await count('third')
    await isCounted(
      store,
      [
        ['second', 1, 'a'],
        ['third', 1, 'a'],
      ],
      { period: 'hour' },
    )
    await advance(22 * hourMs)
    await count('third')
    await isCounted(store, [
      ['first', 1, 'a'],
      ['second', 1, 'a'],
      ['third', 2, 'a'],
    ])
    await advance(hourMs)
    await count('third')
    await isCounted(store, [
      ['second', 1, 'a'],
      ['third', 3, 'a'],
    ])
    await isCounted(
      store,
      [
        ['first', 1, 'a'],
        ['second', 1, 'a'],
        ['third', 3, 'a'],
      ],
      { period: 'week' },
    )
    // The day of the first ones is the first of the week, and all of it counts.
    await advance(6 * dayMs + 21 * hourMs)
    await count('third')
    await isCounted(
      store,
      [
        ['first', 1, 'a'],
        ['second', 1, 'a'],
        ['third', 4, 'a'],
      ],
      { period: 'week' },
    )
    await isCounted(store, [['third', 1, 'a']])
    await advance(hourMs)
    await count('third')
    await isCounted(store, [['third', 4, 'a']], { period: 'week' })
  },
}
