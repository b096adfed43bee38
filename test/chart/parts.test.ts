/** Parts of the layout that a good layout hardly needs: they are tried on their own. */
import { createMachine } from 'xstate'
import { describe, expect, test } from 'vitest'
import { layout, type ChartLayout, type PlacedEdge } from 'jobchart/chart'
import { findFaults } from '../../src/chart/faults.ts'
import { straighten } from '../../src/chart/straighten.ts'
import { machines } from '../../machines/index.ts'
import { overlapsOf } from './support/measure.ts'
import { randomChart } from './support/random-charts.ts'

describe('faults', () => {
  const faultsOf = async (change: (placed: ChartLayout) => Partial<ChartLayout>) => {
    const placed = await layout(machines.job, { direction: 'down' })
    expect(findFaults(placed)).toMatchObject({ overlaps: 0, headings: 0 })
    return findFaults({ ...placed, ...change(placed) })
  }

  test('states over each other, labels over states and labels out of their place are counted', async () => {
    const [first] = (await layout(machines.job, { direction: 'down' })).labels
    const moved = await faultsOf(({ states }) => ({
      states: states.map((each) => (each.state.key === 'done' ? { ...each, box: states[1]!.box } : each)),
    }))
    expect(moved.overlaps).toBeGreaterThan(0)
    const together = await faultsOf(({ labels }) => ({ labels: labels.map((each) => ({ ...each, box: first!.box })) }))
    expect(together.overlaps).toBeGreaterThan(20)
    const outside = await faultsOf(({ labels }) => ({
      labels: labels.map((each, index) => (index === 0 ? { ...each, box: { ...each.box, x: -500 } } : each)),
    }))
    expect(outside.overlaps).toBe(1)
  })

  test('lines through states, labels and the text of the states around them are counted', async () => {
    const level = (y: number) => (placed: ChartLayout) => ({
      edges: placed.edges.slice(0, 1).map((each) => ({
        ...each,
        points: [
          { x: 0, y },
          { x: placed.width, y },
        ],
      })),
    })
    const { states } = await layout(machines.job, { direction: 'down' })
    const { y, height } = states.find(({ state }) => state.key === 'done')!.box
    expect((await faultsOf(level(y + height / 2))).overlaps).toBeGreaterThanOrEqual(6)
    expect((await faultsOf(level(30))).headings).toBe(1)
  })
})

describe('steps', () => {
  const box = (x: number, y: number) => ({ x, y, width: 100, height: 40 })
  /** Two states below each other, and an arrow that makes a step of 10 px on its way down. */
  async function stepped(others: readonly PlacedEdge[]): Promise<number> {
    const machine = createMachine({ id: 'm', initial: 'a', states: { a: { always: 'b' }, b: {} } })
    const { states } = await layout(machine)
    const placed = states.flatMap((each) =>
      each.state.parent === null ? [] : [{ ...each, box: each.state.key === 'a' ? box(0, 0) : box(0, 100) }],
    )
    const points = [
      { x: 50, y: 40 },
      { x: 50, y: 70 },
      { x: 60, y: 70 },
      { x: 60, y: 100 },
    ]
    const edge = { arrow: '0', transitions: [], source: 'm.a', targets: ['m.b'], isHead: true, points }
    return straighten([edge, ...others], placed, [])[0]!.points.length
  }
  const other = (...points: { x: number; y: number }[]): PlacedEdge => ({
    arrow: '1',
    transitions: [],
    source: 'x',
    targets: ['y'],
    isHead: true,
    points,
  })

  test('a small step is taken out of a line', async () => {
    expect(await stepped([])).toBe(2)
  })

  test('no step is taken out where a line would end beside another, run along it or cross it', async () => {
    const left = [
      { x: 48, y: 100 },
      { x: 48, y: 90 },
      { x: 20, y: 90 },
    ]
    const right = [
      { x: 62, y: 40 },
      { x: 62, y: 50 },
      { x: 90, y: 50 },
    ]
    expect(await stepped([other(...left), other(...right)])).toBe(4)
    // Each of the two straight lines would run along one of these.
    expect(await stepped([other({ x: 54, y: 80 }, { x: 54, y: 95 }), other({ x: 64, y: 45 }, { x: 64, y: 60 })])).toBe(
      4,
    )
    expect(await stepped([other({ x: 20, y: 80 }, { x: 56, y: 80 }), other({ x: 55, y: 60 }, { x: 90, y: 60 })])).toBe(
      4,
    )
  })
})

test('the text of a state moves aside where a line comes in from above', async () => {
  const placed = await layout(randomChart(5, 9), { direction: 'down' })
  const moved = placed.states.filter(({ shift }) => shift > 0)
  expect(moved.map(({ state }) => state.id)).toEqual(['s4'])
  expect(overlapsOf(placed)).toEqual([])
  expect(overlapsOf({ ...placed, states: placed.states.map((each) => ({ ...each, shift: 0 })) })).not.toEqual([])
})
