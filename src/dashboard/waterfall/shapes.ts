/** The shapes of a row of a waterfall, in px from the left and the top of its place. */
import type { JobState } from '../../index.ts'
import { textWidth } from '../../chart/text-width.ts'
import { duration } from '../../core/time-words.ts'
import { beginOf, endOf, type Lane, type MachineStay } from './lanes.ts'
import type { Row, Span } from './rows.ts'

export const rowHeight = 26
/** Of text in bars. */
const textSize = 11
/** A shorter bar is not seen. */
const widthMin = 2
const barY = 6
const barHeight = 14

export type Shape =
  | {
      readonly kind: 'bar'
      readonly x: number
      readonly y: number
      readonly width: number
      readonly height: number
      /** Of its colour; `machine` for a state of a machine. */
      readonly tone: JobState | 'machine'
      readonly title: string
      /** The text in it, if it has room. */
      readonly text: string
      /** The seq of its checkpoint. */
      readonly seq: number | null
    }
  | { readonly kind: 'error'; readonly x: number; readonly title: string }
  | { readonly kind: 'end'; readonly x: number; readonly tone: JobState; readonly title: string }

/** The place of a time: 0 for the beginning of the span, `width` for its end. */
const place = (at: number, { from, to }: Span, width: number): number => ((at - from) / Math.max(1, to - from)) * width

const fits = (text: string, width: number): boolean => textWidth(text, textSize) + 8 <= width

const isIn = (from: number, to: number, span: Span): boolean => from <= span.to && to >= span.from

/** @param now the end of what goes on */
export function shapesOf(row: Row, span: Span, width: number, now: number): Shape[] {
  if (row.kind === 'job') return laneShapes(row.lane, span, width, now)
  if (row.kind === 'states') return stateShapes(row.states, endOf(row.lane) ?? now, span, width)
  return foldShapes(row.lanes, row.state, span, width, now)
}

function bar(from: number, to: number, span: Span, width: number): { readonly x: number; readonly width: number } {
  const x = Math.max(-4, place(from, span, width))
  const end = Math.min(width + 4, place(to, span, width))
  return { x, width: Math.max(widthMin, end - x) }
}

function laneShapes(lane: Lane, span: Span, width: number, now: number): Shape[] {
  const { stays, errors, state, isCut } = lane
  const end = endOf(lane)
  const shapes: Shape[] = []
  let lastX = -Infinity
  for (const [i, stay] of stays.entries()) {
    const isEnd = end !== null && i === stays.length - 1
    const to = stays[i + 1]?.at ?? end ?? now
    if (isEnd || !isIn(stay.at, to, span)) continue
    const { x, width: wide } = bar(stay.at, to, span, width)
    // What lies within one px of the bar before is not drawn.
    if (x + wide < lastX + 1 && i < stays.length - 1) continue
    lastX = x + wide
    const attempt = stay.state === 'running' ? `attempt ${stay.attempt}, ` : ''
    const cut = i === 0 && isCut ? ', what was before is not kept' : ''
    const text = duration(to - stay.at)
    shapes.push({
      kind: 'bar',
      x,
      y: barY,
      width: wide,
      height: barHeight,
      tone: stay.state,
      title: `${stay.state} ${attempt}${text}${cut}`,
      text: fits(text, wide) ? text : '',
      seq: null,
    })
  }
  for (const { at, attempt, text } of errors) {
    if (isIn(at, at, span))
      shapes.push({ kind: 'error', x: place(at, span, width), title: `attempt ${attempt}: ${text}` })
  }
  if (end !== null && isIn(end, end, span)) {
    const title = `${state} after ${duration(end - beginOf(lane))}`
    shapes.push({ kind: 'end', x: place(end, span, width), tone: state, title })
  }
  return shapes
}

function stateShapes(states: readonly MachineStay[], end: number, span: Span, width: number): Shape[] {
  return states.flatMap(({ at, states: names, seq }, i): Shape[] => {
    const to = Math.max(at, states[i + 1]?.at ?? end)
    if (!isIn(at, to, span)) return []
    const { x, width: wide } = bar(at, to, span, width)
    const text = fits(names, Math.min(wide, width - Math.max(0, x))) ? names : ''
    const title = `${names}, ${duration(to - at)}`
    return [{ kind: 'bar', x, y: barY - 2, width: wide, height: barHeight + 4, tone: 'machine', title, text, seq }]
  })
}

/** Px of one column of a fold. */
const columnWidth = 4

/** Columns as high as the number of its jobs that were there at a time. */
function foldShapes(lanes: readonly Lane[], state: JobState, span: Span, width: number, now: number): Shape[] {
  const count = Math.max(1, Math.floor(width / columnWidth))
  const column = (at: number): number => Math.floor(place(at, span, count))
  const changes = new Int32Array(count + 1)
  const add = (at: number, by: number): void => void (changes[at] = (changes[at] ?? 0) + by)
  let isSeen = false
  for (const lane of lanes) {
    const [from, to] = [column(beginOf(lane)), column(endOf(lane) ?? now)]
    if (to < 0 || from >= count) continue
    isSeen = true
    add(Math.max(0, from), 1)
    add(Math.min(count, to + 1), -1)
  }
  if (!isSeen) return []
  const heights: number[] = []
  let sum = 0
  for (let i = 0; i < count; i++) heights.push((sum += changes[i] ?? 0))
  const most = Math.max(...heights)
  return heights.flatMap((jobs, i): Shape[] => {
    if (jobs === 0) return []
    const height = Math.max(2, (jobs / most) * (barHeight + 4))
    const y = barY + barHeight + 2 - height
    const title = `${jobs.toLocaleString('en-US')} at once`
    return [
      { kind: 'bar', x: i * columnWidth, y, width: columnWidth - 1, height, tone: state, title, text: '', seq: null },
    ]
  })
}

/** A line of the time axis. */
interface Tick {
  readonly x: number
  /** Since the beginning of the family; empty where it has no room. */
  readonly text: string
  /** The left edge of the text: on the left of the line where it would reach beyond the end. */
  readonly textX: number
}

const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1_800e3,
  3_600e3, 7_200e3, 10_800e3, 21_600e3, 43_200e3, 86_400e3,
]
const tickWidthMin = 84
/** Between a line and its text. */
const tickGap = 3

/** @param begin of the family: what the texts count from */
export function ticksOf(span: Span, width: number, begin: number): Tick[] {
  const least = ((span.to - span.from) * tickWidthMin) / Math.max(1, width)
  const days = Math.ceil(least / 86_400e3)
  const step = steps.find((each) => each >= least) ?? days * 86_400e3
  const ticks: Tick[] = []
  let lastEnd = -Infinity
  for (let at = Math.ceil((span.from - begin) / step) * step; at <= span.to - begin; at += step) {
    const x = place(at + begin, span, width)
    const text = at === 0 ? '0' : `${at < 0 ? '−' : '+'}${duration(Math.abs(at))}`
    const wide = textWidth(text, textSize) + 2
    const textX = x + tickGap + wide <= width ? x + tickGap : x - tickGap - wide
    const hasRoom = textX >= lastEnd + tickGap && textX + wide <= width
    ticks.push({ x, text: hasRoom ? text : '', textX })
    if (hasRoom) lastEnd = textX + wide
  }
  return ticks
}

/** The shortest span that is shown, ms. */
const spanMin = 4

/** A span around a point that stays where it is. @param factor below 1 shows less time */
export function zoomed(span: Span, factor: number, whole: Span, around = 0.5): Span {
  const length = Math.min(whole.to - whole.from, Math.max(spanMin, (span.to - span.from) * factor))
  const at = span.from + (span.to - span.from) * around
  return within({ from: at - length * around, to: at + length * (1 - around) }, whole)
}

/** @param by parts of what is shown; below 0 to the left */
export function panned(span: Span, by: number, whole: Span): Span {
  const length = span.to - span.from
  return within({ from: span.from + length * by, to: span.to + length * by }, whole)
}

function within(span: Span, whole: Span): Span {
  const length = Math.min(span.to - span.from, whole.to - whole.from)
  const from = Math.max(whole.from, Math.min(span.from, whole.to - length))
  return { from, to: from + length }
}
