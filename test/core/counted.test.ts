import { toSvg, toText } from 'jobchart/chart'
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { counted } from '../../src/core/counted.ts'

test('one of a thing is not in the plural', () => {
  expect([0, 1, 2, 1_312].map((count) => counted(count, 'worker'))).toEqual([
    '0 workers',
    '1 worker',
    '2 workers',
    '1,312 workers',
  ])
  expect([1, 2].map((count) => counted(count, 'life', 'lives'))).toEqual(['1 life', '2 lives'])
})

test('a picture says so of one state, one transition and one job', async () => {
  const small = setup({}).createMachine({ id: 'small', initial: 'on', states: { on: { on: { NEXT: 'on' } } } })
  const svg = await toSvg(small, { counts: { on: 1 } })
  expect(svg).toContain('A statechart with 1 state and 1 transition.')
  expect(svg).toContain('on, state, 1 job')
  const deep = setup({}).createMachine({
    id: 'deep',
    initial: 'a',
    states: { a: { initial: 'b', states: { b: {} } } },
  })
  expect(toText(deep, { depth: 1 })).toContain('… 1 state\n')
})
