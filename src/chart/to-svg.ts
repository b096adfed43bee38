/** Draws a chart as SVG: one file that needs nothing else, and that a screen reader can read. */
import { counted } from '../core/counted.ts'
import { boolean, byDefault, oneOf } from '../core/checks.ts'
import { xml } from './escape.ts'
import { toGraph, type ChartSource } from './to-graph.ts'
import { layout } from './layout.ts'
import type { ChartLayout, PlacedEdge } from './layout-types.ts'
import { readMarks, type MarkOptions, type Marks } from './marks.ts'
import type { LayoutOptions } from './options.ts'
import { drawDot, drawEdge, drawHistory, drawLabel, drawSeparator, drawSteps } from './svg-arrows.ts'
import { drawBox, drawContent } from './svg-states.ts'
import { chartStyles, type Theme } from './theme.ts'

/** Options of `toSvg`. */
export interface SvgOptions extends Omit<LayoutOptions, 'counted' | 'timed'>, MarkOptions {
  /** `light`, `dark`, or `auto` (the default): what the reader's system asks for. */
  readonly theme?: Theme
  /**
   * `embedded` (the default), or `none`: the page brings `chartStyles(theme)` itself, because its policy forbids inline
   * styles.
   */
  readonly style?: 'embedded' | 'none'
  /** Read by screen readers and shown on hover; by default the machine's id and description. */
  readonly title?: string
  /** Is the picture's ground transparent, rather than that of the theme? No by default. */
  readonly transparent?: boolean
}

/**
 * A chart as SVG: states with their actions, actors and tags; transitions with guards, actions and delays; regions,
 * history, initial and final states. The picture stands alone, has a title and a description, and is the same for the
 * same input.
 * @param source what `toGraph` takes
 * @param options see `SvgOptions`; `direction`, `depth` and `tags` are those of `layout`
 * @throws JobchartError as `layout` does
 *
 * @example
 * await writeFile('order.svg', await toSvg(orderMachine, { theme: 'dark', active: { paid: 'shipping' } }))
 */
export async function toSvg(source: ChartSource, options: SvgOptions = {}): Promise<string> {
  const { counts, heat } = options
  const draw = await drawingOf(source, { ...options, counted: counts !== undefined, timed: heat !== undefined })
  return draw(options)
}

const themeOption = byDefault('auto', oneOf('light', 'dark', 'auto'))
const styleOption = byDefault('embedded', oneOf('embedded', 'none'))
const transparentOption = byDefault(false, boolean)

export type DrawingOptions = LayoutOptions & Omit<SvgOptions, keyof MarkOptions>

/** Draws a chart that has been laid out, with marks of its own each time: they do not change where anything stands. */
export type Drawing = (marks: MarkOptions) => string

/** @param options `counted` and `timed`, if any of the drawings has counts or heat */
export async function drawingOf(source: ChartSource, options: DrawingOptions): Promise<Drawing> {
  const theme = themeOption(options.theme, 'theme')
  const style = styleOption(options.style, 'style')
  const transparent = transparentOption(options.transparent, 'transparent')
  const whole = toGraph(source)
  const placed = await layout(whole, options)
  const title = options.title ?? [whole.id, whole.description].filter((text) => text !== null).join(': ')
  return (marks) => svgOf(placed, readMarks(whole, placed.graph, marks), { theme, style, title, transparent })
}

interface Frame {
  readonly theme: Theme
  readonly style: 'embedded' | 'none'
  readonly title: string
  readonly transparent: boolean
}

function svgOf(placed: ChartLayout, marks: Marks, { theme, style, title, transparent }: Frame): string {
  const { width, height, states, labels, edges, dots, separators, note } = placed
  const isTaken = ({ transitions }: PlacedEdge): boolean => transitions.some(({ id }) => marks.steps.has(id))
  const compounds = states.filter(({ state }) => state.children.length > 0)
  const simple = states.filter(({ state }) => state.children.length === 0)
  const body = [
    transparent ? '' : `<rect class="jc-canvas" width="${width}" height="${height}"/>`,
    ...compounds.map((each) => drawBox(each, marks)),
    ...separators.map(drawSeparator),
    ...edges.filter((edge) => !isTaken(edge)).map((edge) => drawEdge(edge, marks, false)),
    ...edges.filter(isTaken).map((edge) => drawEdge(edge, marks, true)),
    ...compounds.map((each) => drawContent(each, marks)),
    ...simple.map((each) => (each.state.type === 'history' ? drawHistory(each, marks) : drawBox(each, marks))),
    ...dots.map(drawDot),
    ...labels.map((label) => drawLabel(label, marks)),
    ...drawSteps(placed, marks),
    note === null ? '' : `<text class="jc-note" x="16" y="${height - 8}">${xml(note)}</text>`,
  ].filter((line) => line !== '')
  const id = `jc-${fingerprint(body.join(''))}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="jobchart jobchart-${theme}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="graphics-document document" aria-roledescription="statechart" aria-labelledby="${id}-title ${id}-desc">`,
    `<title id="${id}-title">${xml(title)}</title>`,
    `<desc id="${id}-desc">${xml(summary(placed))}</desc>`,
    style === 'embedded' ? `<style>${chartStyles(theme)}</style>` : '',
    ...body,
    '</svg>\n',
  ]
    .filter((line) => line !== '')
    .join('\n')
}

/** What the picture shows, as text for screen readers. */
function summary({ graph, note }: ChartLayout): string {
  const inner = graph.states.filter(({ parent }) => parent !== null)
  const names = (type: string): string => {
    const found = inner.filter((state) => state.type === type)
    return found.map(({ path }) => path.join('.')).join(', ')
  }
  const start = graph.states[0]?.initial?.targets.map((id) => graph.states.find((state) => state.id === id)?.key ?? id)
  const end = names('final')
  return [
    `A statechart with ${counted(inner.length, 'state')} and ${counted(graph.transitions.length, 'transition')}.`,
    start === undefined ? '' : `It starts in ${start.join(', ')}.`,
    end === '' ? '' : `It ends in ${end}.`,
    note ?? '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ')
}

/** Ids in a page are unique if the pictures differ (FNV-1a, 32 bits). */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(36)
}
