/** A waterfall as a standalone picture: what its page shows, as SVG. */
import { xml } from '../../chart/escape.ts'
import { fitText, textWidth } from '../../chart/text-width.ts'
import { chartStyles, type Theme } from '../../chart/theme.ts'
import { counted, grouped } from '../../core/counted.ts'
import { rowHeight, shapesOf, ticksOf, type Shape } from './shapes.ts'
import type { Row, Span } from './rows.ts'

interface WaterfallPicture {
  readonly rows: readonly Row[]
  readonly span: Span
  /** When the family began: what the axis counts from. */
  readonly begin: number
  readonly now: number
  /** Default `'auto'`: follows the reader's `prefers-color-scheme`. */
  readonly theme?: Theme
}

const width = 1_200
const labelWidth = 280
const margin = 16
const axisHeight = 28
/** Of less of an id nothing can be told. */
const idWidthMin = 36
/** More rows make a picture that no program opens. */
const rowsMax = 500

const rules = [
  ' .jc-rule{stroke:var(--jc-border);stroke-width:1;opacity:.35}',
  ' .jc-bar-machine{fill:var(--jc-label);stroke:var(--jc-border)}',
  ' .jc-small{font-size:11px}',
  ' .jc-in{font-size:11px;fill:var(--jc-ink)}',
  ' .jc-muted{fill:var(--jc-muted)}',
  ' .jc-type{font-weight:600}',
  ' .jc-failed{fill:var(--jc-dead-ink)}',
  ' .jc-error{fill:var(--jc-dead-border);stroke:var(--jc-canvas)}',
]
const barTones = ['queued', 'running', 'retrying', 'waiting', 'done', 'dead', 'cancelling', 'cancelled'] as const
/** The tone that charts have for a state. */
const toneOf = (tone: Extract<Shape, { kind: 'bar' }>['tone']): string => (tone === 'scheduled' ? 'queued' : tone)

/** What a row is called. */
export function labelOf(row: Row): string {
  if (row.kind === 'job') return row.lane.id
  if (row.kind === 'states') return 'its machine'
  return `${grouped(row.lanes.length)} × ${row.type} ${row.state}`
}

/** @returns an SVG document */
export function waterfallSvg({ rows, span, begin, now, theme = 'auto' }: WaterfallPicture): string {
  const shown = rows.slice(0, rowsMax)
  const left = rows.length - shown.length
  const bars = width - labelWidth - 2 * margin
  const height = axisHeight + shown.length * rowHeight + margin + (left > 0 ? rowHeight : 0)
  const styles = [
    chartStyles(theme),
    ...[
      ...rules,
      ...barTones.map(
        (tone) =>
          ` .jc-bar-${tone}{fill:var(--jc-${tone}-fill);stroke:var(--jc-${tone}-border)} .jobchart .jc-end-${tone}{fill:var(--jc-${tone}-border)}`,
      ),
    ].map((rule) => `.jobchart${rule}`),
  ].join('\n')
  const first = shown[0]
  const name = first === undefined ? 'nothing' : labelOf(first)
  const title = `Waterfall of ${name}, ${counted(rows.length, 'row')}`
  const lines = ticksOf(span, bars, begin).map(
    ({ x, text, textX }) =>
      `<path class="jc-rule" d="M${px(x)} ${axisHeight - 4}V${height - margin}"/><text class="jc-small jc-muted" x="${px(textX)}" y="${axisHeight - 10}">${xml(text)}</text>`,
  )
  const drawn = shown.map((row, i) => {
    const indent = margin + row.depth * 12
    const y = axisHeight + i * rowHeight
    const shapes = shapesOf(row, span, bars, now).map(shapeSvg).join('')
    return `<g transform="translate(0 ${y})"><text x="${indent}" y="17">${labelSvg(row, labelWidth - indent - 8)}<title>${xml(labelOf(row))}</title></text><svg x="${labelWidth + margin}" width="${bars}" height="${rowHeight}">${shapes}</svg></g>`
  })
  const more =
    left > 0
      ? `<text class="jc-muted" x="${margin}" y="${height - margin}">and ${counted(left, 'more row', 'more rows')}</text>`
      : ''
  return `<svg xmlns="http://www.w3.org/2000/svg" class="jobchart jobchart-${theme}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="jc-title"><title id="jc-title">${xml(title)}</title><style>${styles}</style><rect class="jc-canvas" width="${width}" height="${height}"/><g transform="translate(${labelWidth + margin} 0)">${lines.join('')}</g>${drawn.join('')}${more}</svg>`
}

/** Of a job its type, red if it has failed, and as much of its id as has room. */
function labelSvg(row: Row, room: number): string {
  if (row.kind !== 'job') return `<tspan class="jc-muted">${xml(fitText(labelOf(row), 12, room))}</tspan>`
  const { id, type, state } = row.lane
  const shown = fitText(type, 12, room)
  const left = room - textWidth(shown, 12, 'bold') - 6
  const tone = state === 'dead' ? ' jc-failed' : ''
  const rest = left < idWidthMin ? '' : `<tspan class="jc-muted" dx="6">${xml(fitText(id, 12, left))}</tspan>`
  return `<tspan class="jc-type${tone}">${xml(shown)}</tspan>${rest}`
}

const px = (value: number): string => String(Math.round(value * 10) / 10)

function shapeSvg(shape: Shape): string {
  const title = `<title>${xml(shape.title)}</title>`
  if (shape.kind === 'error') {
    return `<path class="jc-error" d="M${px(shape.x)} 2l5 9h-10z">${title}</path>`
  }
  if (shape.kind === 'end') {
    return `<rect class="jc-end-${toneOf(shape.tone)}" x="${px(shape.x - 2)}" y="3" width="4" height="20" rx="2">${title}</rect>`
  }
  const { x, y, width: wide, height, tone, text } = shape
  const box = `<rect class="jc-bar-${toneOf(tone)}" x="${px(x)}" y="${px(y)}" width="${px(wide)}" height="${px(height)}" rx="2">${title}</rect>`
  return text !== '' ? `${box}<text class="jc-in" x="${px(Math.max(0, x) + 5)}" y="17">${xml(text)}</text>` : box
}
