/** The boxes of states and the text in them, as SVG. */
import { counted } from '../core/counted.ts'
import type { Content, ContentItem, IconName, TextItem, TransitionRow } from './content.ts'
import { countBadgeWidth, shortNumber } from './count-badge.ts'
import { xml } from './escape.ts'
import { heatWords, timesText } from './heat.ts'
import type { Box, Point } from './geometry.ts'
import type { ChartState, ChartTransition } from './graph.ts'
import type { PlacedState } from './layout-types.ts'
import type { Marks } from './marks.ts'
import { hasKnownWidth } from './text-width.ts'

const icons: Readonly<Record<IconName, string>> = {
  clock: 'M6 1.2a4.8 4.8 0 1 0 0 9.6a4.8 4.8 0 1 0 0-9.6M6 3.4V6l1.8 1.2',
  actor: 'M1.2 2.6h5.6v6.8H1.2zM6.8 6h4M8.9 4l2 2l-2 2',
  forbidden: 'M6 1.2a4.8 4.8 0 1 0 0 9.6a4.8 4.8 0 1 0 0-9.6M2.6 2.6l6.8 6.8',
  loop: 'M10.4 6a4.4 4.4 0 1 1-1.4-3.2M9.4 .8v2.4H7',
}

const px = (value: number): string => String(Math.round(value * 10) / 10)

function drawText({ role, x, y, width, text, full }: TextItem, at: Point): string {
  const title = text === full ? '' : `<title>${xml(full)}</title>`
  // Where the width is an estimate, the glyphs keep their form, and the space between them changes.
  const adjust = hasKnownWidth(text) ? 'spacingAndGlyphs' : 'spacing'
  return `<text class="jc-${role}" x="${px(at.x + x)}" y="${px(at.y + y)}" textLength="${px(width)}" lengthAdjust="${adjust}">${title}${xml(text)}</text>`
}

/** One thing in a box; `width` is the box's. */
export function drawItem(item: ContentItem, at: Point, width: number): string {
  switch (item.kind) {
    case 'text':
      return drawText(item, at)
    case 'icon':
      return `<path class="jc-icon" transform="translate(${px(at.x + item.x)} ${px(at.y + item.y)})" d="${icons[item.icon]}"/>`
    case 'chip':
      return `<g class="jc-chip"><rect x="${px(at.x + item.x)}" y="${px(at.y + item.y)}" width="${px(item.width)}" height="${item.height}" rx="${item.height / 2}"/>${drawText(item.label, at)}</g>`
    case 'rule': {
      const y = px(at.y + item.y)
      return `<path class="jc-rule" d="M${px(at.x)} ${y}h${px(width)}"/>`
    }
  }
}

/** The group of a transition, not yet closed: what it does as attributes and, for a screen reader, in words. */
export function rowStart(transition: ChartTransition, to: readonly string[], { heat }: Marks): string {
  const { id, label, event, source, description } = transition
  const taken = heatWords(heat, transition)
  const leads = `${label || 'always'}: ${source} ${to.length === 0 ? 'stays' : `to ${to.join(', ')}`}`
  const spoken = [leads, taken].filter((text) => text !== null).join(', ')
  const told = [description, taken].filter((text) => text !== null)
  const title = told.length === 0 ? '' : `<title>${xml(told.join('; '))}</title>`
  return `<g data-transition="${xml(id)}" data-event="${xml(event)}" role="graphics-symbol" aria-label="${xml(spoken)}">${title}`
}

/** A transition in a box, as a group. */
export function drawRow(
  row: TransitionRow,
  { items }: Content,
  box: Box,
  marks: Marks,
  to = row.transition.targets,
): string {
  const { transition, y, height } = row
  const own = items.filter((item) => item.kind !== 'rule' && item.y >= y && item.y < y + height)
  return `${rowStart(transition, to, marks)}${own.map((item) => drawItem(item, box, box.width)).join('')}</g>`
}

/** The text of a state, with a group for each transition in it. @param at where it starts */
function drawItems({ content, box, state }: PlacedState, at: Point, marks: Marks): string {
  const top = content.rows[0]?.y ?? Infinity
  const end = content.rows.reduce((last, { y, height }) => Math.max(last, y + height), 0)
  const others = content.items.filter((item) => item.kind === 'rule' || item.y < top || item.y >= end)
  const drawn = others.map((item) => drawItem(item, item.kind === 'rule' ? { x: box.x, y: at.y } : at, box.width))
  const ground = { ...at, width: box.width, height: box.height }
  const rows = content.rows.map((row) => drawRow(row, content, ground, marks))
  return [...drawn, drawTimes(content, state.id, at, marks), ...rows].join('')
}

function drawTimes({ timesY }: Content, id: string, at: Point, { heat }: Marks): string {
  const times = timesY === null ? null : timesText(heat, id)
  if (times === null || timesY === null) return ''
  const { text, title } = times
  return `<text class="jc-times" x="${px(at.x + 12)}" y="${px(at.y + timesY)}"><title>${xml(title)}</title>${xml(text)}</text>`
}

/** What a screen reader says of a state. */
function spoken({ state }: PlacedState, marks: Marks): string {
  const kind = state.type === 'atomic' ? 'state' : `${state.type} state`
  const count = marks.counts.get(state.id)
  const active = marks.active.has(state.id) ? ', active' : ''
  const times = timesText(marks.heat, state.id)
  const heat = times === null ? '' : `, ${times.text}, ${times.title}`
  return `${state.key}, ${kind}${active}${count === undefined ? '' : `, ${counted(count, 'job')}`}${heat}`
}

function classes({ state, region }: PlacedState, marks: Marks): string {
  const isGroup = state.children.length > 0
  return [
    'jc-box',
    state.parent === null ? 'jc-root' : '',
    isGroup ? 'jc-group' : '',
    isGroup && region === 'separated' ? 'jc-region' : isGroup && region === 'boxed' ? 'jc-boxed' : '',
    state.type === 'final' ? 'jc-final' : '',
    state.parent === null ? '' : `jc-${marks.tones.get(state.id) ?? 'neutral'}`,
    marks.active.has(state.id) ? 'jc-active' : '',
    marks.heat?.stuck.has(state.id) === true ? 'jc-stuck' : '',
  ]
    .filter((name) => name !== '')
    .join(' ')
}

/** The path of a state, which users know it by: its id may be another one. */
const pathOf = ({ path }: ChartState): string => xml(path.join('.'))

/** The box of a state; the text of a state with states in it is drawn by `drawContent`, above the arrows. */
export function drawBox(placed: PlacedState, marks: Marks): string {
  const { state, box } = placed
  const radius = state.parent === null ? 12 : state.children.length > 0 ? 10 : 8
  const rect = (inset: number, name: string): string =>
    `<rect${name === '' ? '' : ` class="${name}"`} x="${px(box.x + inset)}" y="${px(box.y + inset)}" width="${px(box.width - 2 * inset)}" height="${px(box.height - 2 * inset)}" rx="${radius - inset}"/>`
  const isHatched = marks.tones.get(state.id) === 'cancelling'
  const at = contentAt(placed, marks)
  const text = state.children.length > 0 ? '' : drawItems(placed, at, marks)
  return [
    `<g class="${classes(placed, marks)}" data-state="${xml(state.id)}" data-path="${pathOf(state)}" role="graphics-object" aria-label="${xml(spoken(placed, marks))}">`,
    state.description === null ? '' : `<title>${xml(`${state.key}: ${state.description}`)}</title>`,
    rect(0, ''),
    isHatched ? hatching(placed) : '',
    state.type === 'final' ? rect(3, 'jc-inner') : '',
    text,
    drawCount(placed, marks),
    '</g>',
  ].join('')
}

/**
 * Where the content of a state without states in it starts: in the middle of a box that is higher; a name alone is
 * centred.
 */
function contentAt({ box, content }: PlacedState, marks: Marks): Point {
  const isName = content.items.length === 1 && marks.counts.size === 0
  return {
    x: box.x + (isName ? (box.width - content.width) / 2 : 0),
    y: box.y + (box.height - content.height) / 2,
  }
}

/** The text of a state with states in it. */
export function drawContent(placed: PlacedState, marks: Marks): string {
  const { box, state, shift } = placed
  return `<g class="jc-head" data-state-head="${xml(state.id)}">${drawItems(placed, { x: box.x + shift, y: box.y }, marks)}</g>`
}

/** Diagonal lines within the box, without a pattern: an id of a pattern would not be unique in a page. */
function hatching({ box }: PlacedState): string {
  const { x, y, width, height } = box
  const lines: string[] = []
  for (let offset = 8; offset < width + height; offset += 8) {
    const x1 = Math.min(offset, width - 2)
    const y1 = offset - x1
    const y2 = Math.min(offset, height - 2)
    const x2 = offset - y2
    if (y1 < height - 2 && x2 < width - 2)
      lines.push(`M${px(x + x1)} ${px(y + Math.max(2, y1))}L${px(x + Math.max(2, x2))} ${px(y + y2)}`)
  }
  return `<path class="jc-hatch" d="${lines.join('')}"/>`
}

function drawCount(placed: PlacedState, marks: Marks): string {
  const { state, box, content, shift } = placed
  const count = marks.counts.get(state.id)
  if (count === undefined) return ''
  const text = shortNumber(count)
  const width = countBadgeWidth(text)
  const [name] = content.items
  const isBesideName = state.children.length > 0 && name?.kind === 'text'
  const x = isBesideName ? box.x + shift + name.x + name.width + 8 : box.x + box.width - 8 - width
  const y = state.children.length > 0 ? box.y : contentAt(placed, marks).y
  const title = text === String(count) ? '' : `<title>${count}</title>`
  return `<g class="jc-count" data-count="${xml(state.id)}" data-path="${pathOf(state)}">${title}<rect x="${px(x)}" y="${px(y + 10)}" width="${px(width)}" height="16" rx="8"/><text x="${px(x + width / 2)}" y="${px(y + 22)}">${text}</text></g>`
}
