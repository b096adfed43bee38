/** Arrows, labels, dots and the numbers of a path, as SVG. */
import { xml } from './escape.ts'
import { segments, type Point } from './geometry.ts'
import { heatClass } from './heat.ts'
import type { ChartLayout, PlacedDot, PlacedEdge, PlacedLabel, PlacedState } from './layout-types.ts'
import type { Marks } from './marks.ts'
import { drawItem, drawRow, rowStart } from './svg-states.ts'

const radius = 8
const tipLength = 8
const tipHalf = 4

const px = (value: number): string => String(Math.round(value * 10) / 10)
const at = ({ x, y }: Point): string => `${px(x)} ${px(y)}`

/** The point `distance` px from `from` on the way to `to`, at most at the middle. */
function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const share = length === 0 ? 0 : Math.min(distance / length, 0.5)
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

/** A line with round corners. */
function roundedPath(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (first === undefined) return ''
  const parts = [`M${at(first)}`]
  for (const [index, point] of rest.entries()) {
    const before = points[index] ?? first
    const after = rest[index + 1]
    if (after === undefined) parts.push(`L${at(point)}`)
    else parts.push(`L${at(towards(point, before, radius))}Q${at(point)} ${at(towards(point, after, radius))}`)
  }
  return parts.join('')
}

/** The line without the length of its head. */
function shortened(points: readonly Point[]): readonly Point[] {
  const last = points.at(-1)
  const before = points.at(-2)
  if (last === undefined || before === undefined) return points
  const length = Math.hypot(last.x - before.x, last.y - before.y)
  const share = length === 0 ? 0 : Math.min(1, (tipLength - 1) / length)
  return [...points.slice(0, -1), { x: last.x + (before.x - last.x) * share, y: last.y + (before.y - last.y) * share }]
}

export function drawEdge(
  { arrow, points, isHead, transitions }: PlacedEdge,
  { heat }: Marks,
  isTaken: boolean,
): string {
  const taken = `${isTaken ? ' jc-taken' : ''}${arrow === null ? '' : heatClass(heat, transitions)}`
  const data = arrow === null ? '' : ` data-arrow="${xml(arrow)}"`
  const line = `<path class="jc-edge${taken}"${data} d="${roundedPath(isHead ? shortened(points) : points)}"/>`
  return isHead ? `${line}${drawTip(points, taken)}` : line
}

function drawTip(points: readonly Point[], taken: string): string {
  const last = points.at(-1)
  const before = points.at(-2)
  if (last === undefined || before === undefined) return ''
  const length = Math.hypot(last.x - before.x, last.y - before.y) || 1
  const [dx, dy] = [(last.x - before.x) / length, (last.y - before.y) / length]
  const base = { x: last.x - dx * tipLength, y: last.y - dy * tipLength }
  const left = { x: base.x - dy * tipHalf, y: base.y + dx * tipHalf }
  const right = { x: base.x + dy * tipHalf, y: base.y - dx * tipHalf }
  return `<path class="jc-tip${taken}" d="M${at(last)}L${at(left)}L${at(right)}Z"/>`
}

/** The label of an arrow; each transition in it is a group of its own, so that a page can light it up. */
export function drawLabel({ box, content, transitions, sources, targets, id }: PlacedLabel, marks: Marks): string {
  const isAlways = transitions.every(({ kind }) => kind === 'always')
  const rows = content.rows.map((row) => drawRow(row, content, box, marks, targets))
  // One row stands for the transitions of all sources: the others are empty groups.
  const others = sources.length > 1 ? transitions.slice(1) : []
  rows.push(...others.map((transition) => `${rowStart(transition, targets, marks)}</g>`))
  const inRows = content.rows.at(-1)
  const end = inRows === undefined ? 0 : inRows.y + inRows.height
  const rest = content.items.filter((item) => item.kind === 'text' && item.y >= end)
  return [
    `<g class="jc-label${isAlways ? ' jc-always' : ''}" data-label="${xml(id)}">`,
    `<rect x="${px(box.x)}" y="${px(box.y)}" width="${px(box.width)}" height="${px(box.height)}" rx="6"/>`,
    ...rows,
    ...rest.map((item) => drawItem(item, box, box.width)),
    '</g>',
  ].join('')
}

export const drawDot = ({ x, y, radius: r }: PlacedDot): string =>
  `<circle class="jc-dot" cx="${px(x)}" cy="${px(y)}" r="${px(r)}"/>`

export const drawSeparator = ([from, to]: readonly [Point, Point]): string =>
  `<path class="jc-separator" d="M${at(from)}L${at(to)}"/>`

export function drawHistory({ state, box }: PlacedState, marks: Marks): string {
  const r = box.width / 2
  const active = marks.active.has(state.id) ? ' jc-active' : ''
  const spoken = `${state.key}, ${state.history ?? 'shallow'} history`
  const label = state.history === 'deep' ? 'H*' : 'H'
  return `<g class="jc-history${active}" data-state="${xml(state.id)}" role="graphics-object" aria-label="${xml(spoken)}"><title>${xml(spoken)}</title><circle cx="${px(box.x + r)}" cy="${px(box.y + r)}" r="${px(r - 1)}"/><text x="${px(box.x + r)}" y="${px(box.y + r + 4)}">${label}</text></g>`
}

/** The numbers of a path, at the labels of the arrows that were taken; at the arrow's head if it has no label. */
export function drawSteps({ labels, edges }: ChartLayout, { steps }: Marks): string[] {
  const badges: string[] = []
  for (const { content, box, sources, transitions } of labels) {
    for (const { transition, y } of content.rows) {
      const same = sources.length > 1 ? transitions : [transition]
      const numbers = same.flatMap(({ id }) => steps.get(id) ?? []).toSorted((a, b) => a - b)
      if (numbers.length > 0) badges.push(drawStep(numbers, { x: box.x + 2, y: box.y + y + 8 }))
    }
  }
  const labelled = new Set(labels.map(({ id }) => id))
  for (const { arrow, transitions, points } of edges) {
    if (arrow === null || labelled.has(arrow)) continue
    const numbers = transitions.flatMap(({ id }) => steps.get(id) ?? [])
    const [longest] = segments(points).toSorted(
      ([a, b], [c, d]) => Math.hypot(d.x - c.x, d.y - c.y) - Math.hypot(b.x - a.x, b.y - a.y),
    )
    if (numbers.length === 0 || longest === undefined) continue
    const [a, b] = longest
    badges.push(drawStep(numbers, { x: (a.x + b.x) / 2 + 8, y: (a.y + b.y) / 2 }))
  }
  return badges
}

/** At most three numbers; more are told on hover. `end` is the middle of the badge's right end. */
function drawStep(numbers: readonly number[], end: Point): string {
  const text = numbers.length > 3 ? `${numbers.slice(0, 2).join(' ')} …` : numbers.join(' ')
  const width = Math.max(16, text.length * 5.9 + 8)
  const x = end.x - width
  const title = numbers.length > 3 ? `<title>${numbers.join(', ')}</title>` : ''
  return `<g class="jc-step">${title}<rect x="${px(x)}" y="${px(end.y - 8)}" width="${px(width)}" height="16" rx="8"/><text x="${px(x + width / 2)}" y="${px(end.y + 3.5)}">${text}</text></g>`
}
