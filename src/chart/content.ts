/** What stands in the box of a state and in the label of an arrow, measured and placed relative to the box. */
import { counted } from '../core/counted.ts'
import { countWidth } from './count-badge.ts'
import { hasOwnId, type ChartInvoke, type ChartState, type ChartTransition } from './graph.ts'
import { timesRoom } from './heat.ts'
import { guardLabel, hiddenText } from './lines.ts'
import { fitText, textWidth, type Weight } from './text-width.ts'

/** What a text in a picture is; it decides size, weight and colour. */
export type TextRole = 'heading' | 'name' | 'event' | 'guard' | 'action' | 'key' | 'value' | 'chip' | 'note'
/** The icons: of timers, actors, events that do nothing, and transitions to the own state. */
export type IconName = 'clock' | 'actor' | 'forbidden' | 'loop'

/** Font size in px, weight, and the width in px at which a text of this role is cut. */
const typography: Readonly<Record<TextRole, { size: number; weight: Weight; widthMax: number }>> = {
  heading: { size: 15, weight: 'bold', widthMax: 400 },
  name: { size: 14, weight: 'bold', widthMax: 240 },
  event: { size: 12, weight: 'regular', widthMax: 220 },
  guard: { size: 12, weight: 'regular', widthMax: 220 },
  action: { size: 11, weight: 'regular', widthMax: 220 },
  key: { size: 11, weight: 'regular', widthMax: 80 },
  value: { size: 12, weight: 'regular', widthMax: 220 },
  chip: { size: 10.5, weight: 'regular', widthMax: 140 },
  note: { size: 12, weight: 'regular', widthMax: 480 },
}

export interface TextItem {
  readonly kind: 'text'
  readonly role: TextRole
  readonly x: number
  /** Of the baseline. */
  readonly y: number
  readonly width: number
  readonly text: string
  /** The text before it was cut. */
  readonly full: string
}

interface IconItem {
  readonly kind: 'icon'
  readonly icon: IconName
  readonly x: number
  readonly y: number
}

interface ChipItem {
  readonly kind: 'chip'
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly label: TextItem
}

interface RuleItem {
  readonly kind: 'rule'
  readonly y: number
}

/** A text, an icon, a tag or a line in a box. */
export type ContentItem = TextItem | IconItem | ChipItem | RuleItem

/** The lines of one transition within a box. */
export interface TransitionRow {
  readonly transition: ChartTransition
  readonly y: number
  readonly height: number
}

/** The items in a box, with positions relative to its top left corner, in px. */
export interface Content {
  readonly width: number
  readonly height: number
  readonly items: readonly ContentItem[]
  readonly rows: readonly TransitionRow[]
  /** Of the baseline of the times in a state; null if no room is kept for them. */
  readonly timesY: number | null
}

const iconWidth = 12
const chipHeight = 16
const chipsWidthMax = 208
const actionsMax = 6
const rowsMax = 10

interface Span {
  readonly role: TextRole
  readonly text: string
  readonly icon?: IconName
}

type Line = readonly Span[]

/** Collects items from top to bottom and keeps the extent. */
class Sheet {
  readonly items: ContentItem[] = []
  readonly rows: TransitionRow[] = []
  readonly left: number
  width = 0
  y: number
  timesY: number | null = null
  constructor(left: number, top: number) {
    this.left = left
    this.y = top
  }

  line(spans: Line, height: number, baseline: number): void {
    let x = this.left
    for (const span of spans) {
      if (span.icon !== undefined) {
        this.items.push({ kind: 'icon', icon: span.icon, x, y: this.y + baseline - 10 })
        x += iconWidth + 4
      }
      const item = textItem(span, x, this.y + baseline)
      this.items.push(item)
      x += item.width + 5
    }
    this.width = Math.max(this.width, x - 5)
    this.y += height
  }

  /** Room for the times in a state, below its name. */
  times(): void {
    this.y -= 8
    this.timesY = this.y + 11
    this.width = Math.max(this.width, this.left + timesRoom.width)
    this.y += timesRoom.height + 4
  }

  /** A line of which the whole text is shown on hover. */
  hinted(span: Span, full: string): void {
    const item = textItem(span, this.left, this.y + 12)
    this.items.push({ ...item, full })
    this.width = Math.max(this.width, this.left + item.width)
    this.y += 16
  }

  chips(labels: readonly string[]): void {
    let x = this.left
    for (const label of labels) {
      const text = textItem({ role: 'chip', text: label }, x + 6, this.y + 12)
      const width = text.width + 12
      if (x > this.left && x + width > this.left + chipsWidthMax) {
        x = this.left
        this.y += chipHeight + 4
        this.items.push({
          kind: 'chip',
          x,
          y: this.y,
          width,
          height: chipHeight,
          label: { ...text, x: x + 6, y: this.y + 12 },
        })
      } else {
        this.items.push({ kind: 'chip', x, y: this.y, width, height: chipHeight, label: text })
      }
      this.width = Math.max(this.width, x + width)
      x += width + 4
    }
    this.y += chipHeight + 6
  }

  transition(transition: ChartTransition, lines: readonly Line[]): void {
    const top = this.y
    for (const line of lines) this.line(line, 16, 12)
    this.rows.push({ transition, y: top, height: this.y - top })
  }

  content(right: number, bottom: number): Content {
    const { items, rows, timesY } = this
    return { width: Math.ceil(this.width + right), height: this.y + bottom, items, rows, timesY }
  }
}

function textItem({ role, text }: Span, x: number, y: number): TextItem {
  const { size, weight, widthMax } = typography[role]
  // A line break or a tab in a name is drawn as a space.
  const full = text.replaceAll(/\s+/g, ' ')
  const fitted = fitText(full, size, widthMax, weight)
  return { kind: 'text', role, x, y, width: textWidth(fitted, size, weight), text: fitted, full }
}

interface LineOptions {
  readonly withActions?: boolean
  /** The names of the states it leads to, if no arrow shows them. */
  readonly to?: readonly string[]
}

/** The lines of a transition: the event with its guard, the actions below. */
function transitionLines(transition: ChartTransition, { withActions = true, to = [] }: LineOptions = {}): Line[] {
  const { label, kind, forbidden, self, targetless } = transition
  const actions = withActions ? transition.actions : []
  const event: Span = {
    role: 'event',
    text: label,
    ...(forbidden
      ? { icon: 'forbidden' }
      : kind === 'after'
        ? { icon: 'clock' }
        : self && !targetless
          ? { icon: 'loop' }
          : {}),
  }
  const guard: Span = { role: 'guard', text: guardLabel(transition) }
  const target: Span = { role: 'action', text: to.length === 0 ? '' : `→ ${to.join(', ')}` }
  const spans = [event, guard, target].filter(({ text }) => text !== '')
  const width = spans.reduce((sum, { role, text }) => sum + textWidth(text, typography[role].size), 0)
  const head: Line[] = spans.length > 1 && width > 230 ? spans.map((span) => [span]) : spans.length === 0 ? [] : [spans]
  const shown = actions.length > actionsMax ? actions.slice(0, actionsMax - 1) : actions
  const lines = shown.map((action): Line => [{ role: 'action', text: `/ ${action}` }])
  if (shown.length < actions.length) lines.push([{ role: 'action', text: `/ ${actions.length - shown.length} more` }])
  return [...head, ...lines]
}

/**
 * The label of an arrow, which several transitions may share; null if there is nothing to say.
 * @param from the states it comes from, if no lines from them are drawn
 */
export function labelContent(
  transitions: readonly ChartTransition[],
  withActions: boolean,
  from: readonly string[] = [],
): Content | null {
  const sheet = new Sheet(8, 4)
  const shown = transitions.length > rowsMax ? transitions.slice(0, rowsMax - 1) : transitions
  for (const transition of shown) sheet.transition(transition, transitionLines(transition, { withActions }))
  if (shown.length < transitions.length) {
    const rest = transitions.slice(shown.length)
    const names = rest.map(({ label }) => label).join(', ')
    sheet.line([{ role: 'action', text: `${rest.length} more: ${names}` }], 16, 12)
  }
  if (from.length > 0) sheet.hinted({ role: 'action', text: `from ${counted(from.length, 'state')}` }, from.join(', '))
  return sheet.items.length === 0 ? null : sheet.content(8, 4)
}

export interface StateContentOptions {
  /** Are tags drawn? */
  readonly tags: boolean
  /** Is room kept for a number of jobs at the right of the name? */
  readonly counted: boolean
  /** Is room kept for the time that machines stay in it? */
  readonly timed: boolean
}

/** A transition that is written in its state, with the names of the states it leads to. */
export interface WrittenTransition {
  readonly transition: ChartTransition
  readonly to: readonly string[]
}

/** What stands in a state: name, tags, actions on entry and exit, actors, and what it does without leaving. */
export function stateContent(
  state: ChartState,
  inside: readonly WrittenTransition[],
  { tags, counted, timed, leftOut = 0 }: StateContentOptions & { readonly leftOut?: number },
): Content {
  const isRoot = state.parent === null
  const sheet = new Sheet(12, 0)
  if (isRoot) sheet.line([{ role: 'heading', text: state.key }], 36, 25)
  else sheet.line([{ role: 'name', text: state.key }], 36, 23)
  if (counted) sheet.width += countWidth
  if (timed && !isRoot && state.type !== 'final') sheet.times()
  if (isRoot && state.description !== null) {
    sheet.y -= 6
    sheet.line([{ role: 'note', text: state.description }], 22, 12)
  }
  const before = sheet.y
  if (tags && state.tags.length > 0) sheet.chips(state.tags)
  for (const [key, actions] of [
    ['entry', state.entry],
    ['exit', state.exit],
  ] as const) {
    for (const action of actions)
      sheet.line(
        [
          { role: 'key', text: `${key} /` },
          { role: 'value', text: action },
        ],
        18,
        12,
      )
  }
  for (const invoke of state.invokes) sheet.line(invokeLine(invoke), 18, 12)
  if (state.hidden > 0) sheet.line([{ role: 'note', text: hiddenText(state) }], 18, 12)
  if (inside.length > 0) {
    sheet.items.push({ kind: 'rule', y: sheet.y + 1 })
    sheet.y += 6
    for (const { transition, to } of inside) sheet.transition(transition, transitionLines(transition, { to }))
    if (leftOut > 0) sheet.line([{ role: 'action', text: `${leftOut} more` }], 16, 12)
    sheet.y += 2
  }
  return sheet.content(12, sheet.y > before ? 6 : 0)
}

function invokeLine(invoke: ChartInvoke): Line {
  const { id, source } = invoke
  const isNamed = hasOwnId(invoke)
  const name: Span = { role: 'value', text: isNamed ? id : source, icon: 'actor' }
  return isNamed && id !== source && source !== 'inline' ? [name, { role: 'key', text: source }] : [name]
}
