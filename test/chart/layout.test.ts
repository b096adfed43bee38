/** Nothing in a picture lies over anything else: measured by code that the layout does not use. */
import { expect, test } from 'vitest'
import { layout, type ChartLayout, type ChartSource } from 'jobchart/chart'
import { machines } from '../../machines/index.ts'
import { isLong } from '../harness/long-form.ts'
import { exampleCharts } from './support/example-charts.ts'
import { knownCharts } from './support/known-charts.ts'
import { overlapsOf } from './support/measure.ts'
import { randomChart } from './support/random-charts.ts'

const randomCharts = Array.from({ length: isLong ? 95 : 15 }, (_, index) => randomChart(index + 1, 5 + (index % 9)))
const known = isLong ? knownCharts : knownCharts.filter((_, index) => index % 3 === 0)
const charts: readonly ChartSource[] = [...Object.values(machines), ...exampleCharts, ...known, ...randomCharts]

test(`nothing lies over anything else in ${charts.length} charts`, async () => {
  expect(charts.length).toBeGreaterThanOrEqual(isLong ? 140 : 30)
  const found: Record<string, string[]> = {}
  for (const [index, chart] of charts.entries()) {
    const placed = await layout(chart, { direction: index % 2 === 0 ? 'right' : 'down' })
    const overlaps = overlapsOf(placed)
    if (overlaps.length > 0) found[placed.graph.id] = overlaps
  }
  expect(found).toEqual({})
})

test('an overlap of each kind is noticed', async () => {
  const placed = await layout(machines.job, { direction: 'down' })
  expect(overlapsOf(placed)).toEqual([])
  const shifted = (change: (layout: ChartLayout) => Partial<ChartLayout>): string =>
    overlapsOf({ ...placed, ...change(placed) }).join('\n')
  const moveState = shifted(({ states }) => ({
    states: states.map((each) => (each.state.key === 'done' ? { ...each, box: states[1]!.box } : each)),
  }))
  expect(moveState).toContain('job.scheduled over job.done')
  const moveLabel = shifted(({ labels }) => ({ labels: labels.map((each) => ({ ...each, box: labels[0]!.box })) }))
  expect(moveLabel).toContain('label CLAIM over label')
  const { y, height } = placed.states.find(({ state }) => state.key === 'done')!.box
  const middle = y + height / 2
  const moveEdge = shifted(({ edges, width }) => ({
    edges: edges.map((each) => ({
      ...each,
      points: [
        { x: 0, y: middle },
        { x: width, y: middle },
      ],
    })),
  }))
  expect(moveEdge).toMatch(/through (job|label)/)
  expect(moveEdge).toContain('begins nowhere')
})

test('the same chart gets the same layout, also after others', async () => {
  const first = JSON.stringify(await layout(machines.runtime))
  await layout(knownCharts[0]!)
  expect(JSON.stringify(await layout(machines.runtime))).toBe(first)
})

test('a flat chart leads where it is told to', async () => {
  const right = await layout(machines.job, { direction: 'right' })
  const down = await layout(machines.job, { direction: 'down' })
  expect(right.width / right.height).toBeGreaterThan(down.width / down.height)
})

test('regions are set apart by lines that touch no state', async () => {
  const editor = knownCharts.find(({ id }) => id === 'text-editor')!
  const { separators, states } = await layout(editor, { direction: 'down' })
  expect(separators).toHaveLength(3)
  const boxes = states.filter(({ state }) => state.parent === 'text-editor').map(({ box }) => box)
  for (const [{ x }] of separators) expect(boxes.filter((box) => x > box.x && x < box.x + box.width)).toEqual([])
})

test('regions at which an arrow ends have a border of their own', async () => {
  const region = (key: string) => ({ initial: 'a', states: { a: { on: { [key]: `#${key}` } }, b: {} } })
  const states = { x: region('left'), y: { ...region('up'), id: 'left' }, z: { ...region('down'), id: 'up' } }
  const machine = { id: 'm', type: 'parallel' as const, states: { ...states, end: { id: 'down' } } }
  const placed = await layout(machine)
  expect(placed.separators).toEqual([])
  expect(placed.states.flatMap(({ state, region }) => (region === 'boxed' ? [state.key] : []))).toEqual([
    'x',
    'y',
    'z',
    'end',
  ])
})

test('an engine that fails is told in a typed error, with its own as the cause', async () => {
  const cause = new Error('no layout')
  const engine = { layout: () => Promise.reject(cause) }
  await expect(layout(machines.job, { engine })).rejects.toMatchObject({ code: 'UNSUPPORTED', cause })
})
