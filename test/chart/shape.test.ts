/** Charts that a layout engine makes slow, wide or confused: long rows, and one target of many states. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { layout, toSvg, type ChartLayout } from 'jobchart/chart'
import { countBadgeWidth, countWidth, shortNumber } from '../../src/chart/count-badge.ts'
import { textWidth } from '../../src/chart/text-width.ts'
import { isLong } from '../harness/long-form.ts'
import { overlapsOf } from './support/measure.ts'
import { wizardOf } from './support/wizard.ts'

const headsAt = ({ edges }: ChartLayout, state: string) =>
  edges.filter(({ isHead, targets }) => isHead && targets.includes(state))

test('an event that leads from many states to one is one arrow, with their number and, on hover, their names', async () => {
  const placed = await layout(wizardOf(20))
  expect(overlapsOf(placed)).toEqual([])
  expect(headsAt(placed, 'wizard.cancelled')).toHaveLength(1)
  const label = placed.labels.find(({ transitions }) => transitions[0]?.label === 'CANCEL')!
  expect(label.sources).toHaveLength(20)
  const svg = await toSvg(wizardOf(20))
  expect(svg).toContain('>from 20 states<')
  expect(svg).toContain('<title>s0, s1, s2')
  expect(svg.match(/data-transition="[^"]*CANCEL/g)).toHaveLength(20)
})

test('an event that leads from a few states to one has a line from each, which join at one label', async () => {
  const placed = await layout(wizardOf(4))
  expect(overlapsOf(placed)).toEqual([])
  const label = placed.labels.find(({ sources }) => sources.length === 4)!
  const lines = placed.edges.filter(({ arrow }) => arrow === label.id)
  expect(lines.filter(({ isHead }) => isHead)).toHaveLength(1)
  const tails = lines.filter(({ isHead }) => !isHead)
  expect(tails.map(({ source }) => source)).toEqual(label.sources)
  expect(new Set(tails.map(({ points }) => JSON.stringify(points.at(-1)))).size).toBe(1)
})

test('only the line that a job took is marked, of those that join', async () => {
  const svg = await toSvg(wizardOf(4), { path: ['s2', 'cancelled'] })
  // A line from the state to the label, and one from there.
  expect(svg.match(/class="jc-edge jc-taken"/g)).toHaveLength(2)
})

test('long rows of states are cut, and no picture is much wider than a page', async () => {
  for (const steps of isLong ? [10, 20, 30] : [25]) {
    const placed = await layout(wizardOf(steps))
    expect(overlapsOf(placed)).toEqual([])
    expect([steps, placed.width, placed.height]).toEqual([
      steps,
      expect.toSatisfy((width: number) => width <= 1_800),
      expect.toSatisfy((height: number) => height <= 2_000),
    ])
  }
})

test('nothing that is written leaves its box, whatever its length', async () => {
  const long = 'a text that is longer than all that is drawn in the state around it, and goes on for a while'
  const configs = [
    { id: long, description: long, initial: 'a', states: { a: { on: { GO: 'b' } }, b: {} } },
    {
      id: 'm',
      description: long,
      initial: 'a',
      states: { a: { initial: 'x', states: { x: {} }, on: { GO: 'b' } }, b: {} },
    },
    {
      id: 'm',
      type: 'parallel' as const,
      description: long,
      states: { a: { initial: 'x', states: { x: {} } }, b: {} },
    },
    { ...wizardOf(20), description: long },
  ]
  for (const config of configs) {
    for (const direction of ['right', 'down', 'auto'] as const) {
      const { states, labels, width, height } = await layout(config, { direction })
      for (const { box, content, shift = 0 } of [...states, ...labels.map((label) => ({ ...label, shift: 0 }))]) {
        expect(shift + content.width).toBeLessThanOrEqual(box.width + 0.5)
        expect(box.x + box.width).toBeLessThanOrEqual(width)
        expect(box.y + box.height).toBeLessThanOrEqual(height)
        for (const item of content.items) {
          if (item.kind === 'text') expect(item.x + item.width).toBeLessThanOrEqual(content.width)
        }
      }
    }
  }
})

test('a label can be read while its pulse fades: neither its text nor its ground changes', async () => {
  const css = await readFile(new URL('../../src/dashboard/page/charts.css', import.meta.url), 'utf8')
  const rules = [...css.matchAll(/(?:jc-pulse|\.jc-label > rect)[^{]*\{([^}]*)\}/g)].map(([, body]) => body!)
  expect(rules).toHaveLength(2)
  expect(rules.join()).toContain('stroke')
  expect(rules.join()).not.toMatch(/fill|opacity/)
})

test('a count of any size fits into its badge', () => {
  for (const count of [
    0, 9_999, 10_000, 99_949, 99_999, 100_000, 123_456, 999_999, 1_234_567, 123_456_789, 1e12, 9e15,
  ]) {
    const text = shortNumber(count)
    // Bold digits of 11 px are at most 6.6 px wide, and 4 px are left at either side.
    expect([text, text.length * 6.6 + 8]).toEqual([
      text,
      expect.toSatisfy((width: number) => width <= countBadgeWidth(text)),
    ])
    expect(countBadgeWidth(text)).toBeLessThanOrEqual(countWidth)
  }
  expect([12_345, 123_456, 99_999].map(shortNumber)).toEqual(['12.3K', '123K', '100K'])
})

test('an emoji is as wide as one, however many characters it has, and is not stretched', async () => {
  expect(textWidth('👩‍👩‍👧‍👦', 12)).toBe(textWidth('🚀', 12))
  expect(textWidth('🇩🇪', 12)).toBe(textWidth('🚀', 12))
  const svg = await toSvg({ id: 'm', initial: 'a', states: { a: { on: { '🚀 LAUNCH': 'b' } }, b: {} } })
  expect(svg).toMatch(/lengthAdjust="spacing">🚀 LAUNCH/)
  expect(svg).toMatch(/lengthAdjust="spacingAndGlyphs">a</)
})

test('a layout with a time limit is drawn to the depth that fits, and the picture says so', async () => {
  const states = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`g${at}`, wizardOf(20)]))
  const placed = await layout({ id: 'm', initial: 'g0', states }, { timeLimit: '2s' })
  expect(placed.note).toBe('This chart takes too long to lay out: drawn to depth 1 of 2.')
  expect(placed.graph.states).toHaveLength(13)
  expect(overlapsOf(placed)).toEqual([])
})

test('a flat chart that does not fit is drawn as a list, with its transitions in its states', async () => {
  const config = wizardOf(250, { description: 'The end' })
  const placed = await layout(config, { timeLimit: 1_000 })
  expect(placed.note).toContain('transitions are written in their states')
  expect(overlapsOf(placed)).toEqual([])
  expect(placed.states).toHaveLength(253)
  expect(placed.width).toBeLessThan(1_800)
  const svg = await toSvg(config, { timeLimit: 1_000 })
  expect(svg).toContain('→ s17<')
  expect(svg).toMatch(/class="jc-note"[^>]*>This chart takes too long/)
  expect(svg.match(/data-transition="/g)).toHaveLength(750)
})
