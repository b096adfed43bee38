/** The waterfall of a job: it, its children and theirs, and the states of their machines on one time axis. */
import type { JSX, TargetedPointerEvent, TargetedWheelEvent } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { counted } from '../../core/counted.ts'
import type { PictureTheme } from '../picture-document.ts'
import { beginOf, type Lane } from '../waterfall/lanes.ts'
import { rowHeight, shapesOf, ticksOf, zoomed, panned, type Shape } from '../waterfall/shapes.ts'
import { eventfulSpan, hasTrouble, openedTo, rowsOf, spanOf, statesOf, type Row, type Span } from '../waterfall/rows.ts'
import { labelOf, waterfallSvg } from '../waterfall/svg.ts'
import { useFamily, type Family } from './family.ts'
import { Panel } from './parts.tsx'
import { go, jobLink, link } from './router.ts'
import { SavePicture } from './save-picture.tsx'
import { duration, now, number } from './words.ts'

/** Rows drawn beyond those that are seen, so that a fast scroll shows no gap. */
const spare = 6

interface WaterfallProps {
  readonly id: string
  /** A checkpoint of the job itself was chosen. */
  readonly onCheckpoint: (seq: number) => void
}

export function Waterfall({ id, onCheckpoint }: WaterfallProps): JSX.Element {
  const family = useFamily(id)
  const members = family.members.value
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [chosenSpan, setSpan] = useState<Span | 'all' | null>(null)
  const [active, setActive] = useState<number | null>(null)
  const [jump, setJump] = useState(0)
  const rows = useMemo(() => rowsOf(members, id, opened), [members, id, opened])
  const root = members.get(id)?.lane
  if (root === undefined) {
    const { value: error } = family.error
    return (
      <Panel title="Waterfall">
        {error === null ? <div class="wf-empty" /> : <p class="problem">{error.message}</p>}
      </Panel>
    )
  }
  const at = Math.max(now.value, beginOf(root))
  const whole = spanOf(members, id, at)
  const padded = { from: whole.from, to: whole.to + (whole.to - whole.from) * 0.02 + 1 }
  const span = chosenSpan === 'all' ? padded : (chosenSpan ?? eventfulSpan(members, padded))
  const isAll = span.from === padded.from && span.to === padded.to
  const open = (row: Row, isOpen: boolean): void => {
    setOpened((before) => new Map(before).set(row.key, isOpen))
    if (row.kind === 'job' && isOpen && members.get(row.key)?.children.length === 0) void family.load(row.key)
  }
  const act = (row: Row): void => {
    if (row.kind === 'job' && row.key !== id) go(jobLink(row.key))
    else if (row.kind === 'fold') open(row, !row.isOpen)
  }
  const controls = {
    rows,
    id,
    active: active ?? 0,
    isMarked: active !== null,
    jump,
    setActive,
    open,
    act,
    span,
    whole: padded,
    setSpan,
    onCheckpoint,
    at,
    begin: beginOf(root),
  }
  const toFailed = async (): Promise<void> => {
    await family.openWay()
    const way = family.failed.value.map((lane) => lane.id)
    const wayOpened = openedTo(family.members.value, id, opened, way)
    const found = rowsOf(family.members.value, id, wayOpened).findIndex(({ key }) => key === way.at(-1))
    if (found === -1) return
    setOpened(wayOpened)
    setActive(found)
    setJump((before) => before + 1)
  }
  const picture = (theme: PictureTheme): string => waterfallSvg({ rows, span, begin: beginOf(root), now: at, theme })
  return (
    <Panel title="Waterfall" aside={<Summary of={family} id={id} />}>
      <Tools
        of={controls}
        isAll={isAll}
        toFailed={family.failed.value.length > 0 ? toFailed : null}
        picture={picture}
      />
      <Tree {...controls} />
      {family.error.value !== null && <p class="problem">{family.error.value.message}</p>}
    </Panel>
  )
}

interface ToolsProps {
  readonly of: TreeProps
  /** Is the whole time shown? */
  readonly isAll: boolean
  /** null if nothing has failed. */
  readonly toFailed: (() => Promise<void>) | null
  /** What is shown, as an SVG document. */
  readonly picture: (theme: PictureTheme) => string
}

const Tools = ({ of: { id, span, whole, setSpan }, isAll, toFailed, picture }: ToolsProps): JSX.Element => (
  <div class="actions start wf-tools">
    <button
      type="button"
      class="quiet"
      aria-label="Show less time"
      title="+"
      onClick={() => setSpan(zoomed(span, 0.5, whole))}
    >
      +
    </button>
    <button
      type="button"
      class="quiet"
      aria-label="Show more time"
      title="−"
      onClick={() => setSpan(zoomed(span, 2, whole))}
    >
      −
    </button>
    <button type="button" class="quiet" disabled={isAll} onClick={() => setSpan('all')}>
      All of it
    </button>
    {!isAll && (
      <span class="muted wf-part">
        shows {duration(span.to - span.from)} of {duration(whole.to - whole.from)}
      </span>
    )}
    {toFailed !== null && (
      <button type="button" onClick={() => void toFailed()}>
        To what failed
      </button>
    )}
    <SavePicture name={`waterfall-${id}`} make={picture} />
  </div>
)

function Summary({ of, id }: { readonly of: Family; readonly id: string }): JSX.Element {
  const members = of.members.value
  const ids = members.get(id)?.children ?? []
  const lanes = ids.flatMap((each) => members.get(each)?.lane ?? [])
  const parent = of.parent.value
  return (
    <span class="muted wf-summary">
      {parent !== null && (
        <>
          invoked by{' '}
          <a class="id" href={jobLink(parent.id)}>
            {parent.id}
          </a>
          {lanes.length > 0 && ', '}
        </>
      )}
      {lanes.length > 0 && (
        <>
          <a href={link('jobs', '', { parent: id })}>{counted(lanes.length, 'child', 'children')}</a>
          {of.isWhole.value ? ': ' : ' so far: '}
          {statesOf(lanes)
            .map(([state, count]) => `${number(count)} ${state}`)
            .join(', ')}
        </>
      )}
    </span>
  )
}

interface TreeProps {
  readonly rows: readonly Row[]
  readonly id: string
  readonly active: number
  /** Was a row chosen? Without, the active row is seen only while the rows have the focus. */
  readonly isMarked: boolean
  /** Another number: the rows get the focus, and the active one is scrolled to. */
  readonly jump: number
  readonly setActive: (row: number) => void
  readonly open: (row: Row, isOpen: boolean) => void
  readonly act: (row: Row) => void
  readonly span: Span
  readonly whole: Span
  readonly setSpan: (span: Span | 'all') => void
  readonly onCheckpoint: (seq: number) => void
  readonly at: number
  /** When the family began. */
  readonly begin: number
}

function Tree(props: TreeProps): JSX.Element {
  const { rows, active, isMarked, jump, span, at, begin } = props
  const ground = useRef<HTMLDivElement>(null)
  const axis = useRef<SVGSVGElement>(null)
  const [seen, setSeen] = useState({ top: 0, height: 420 })
  const width = useWidth(axis)
  const look = (): void => {
    const { current } = ground
    if (current !== null) setSeen({ top: current.scrollTop, height: current.clientHeight })
  }
  useEffect(() => {
    const { current } = ground
    if (current === null) return
    const top = active * rowHeight
    if (top < current.scrollTop) current.scrollTop = top
    else if (top + rowHeight > current.scrollTop + current.clientHeight)
      current.scrollTop = top + rowHeight - current.clientHeight
    look()
  }, [active, jump])
  const jumped = useRef(0)
  // After each drawing: the row is drawn only when the rows have been scrolled to it.
  useEffect(() => {
    const row = ground.current?.querySelector('[aria-selected=true]') ?? null
    if (jumped.current === jump || row === null) return
    jumped.current = jump
    // The focus alone scrolls to the top of the rows, which may be higher than the window.
    ground.current?.focus({ preventScroll: true })
    row.scrollIntoView({ block: 'nearest' })
  })
  useEffect(look, [rows.length])
  const drag = useDrag(axis, props)
  const first = Math.max(0, Math.floor(seen.top / rowHeight) - spare)
  const last = Math.min(rows.length, Math.ceil((seen.top + seen.height) / rowHeight) + spare)
  const ticks = ticksOf(span, width, begin)
  return (
    <div class="wf" {...drag.on}>
      <div class="wf-axis" aria-hidden="true">
        <span />
        <svg ref={axis} height={20}>
          {ticks.map(({ x, text, textX }) => (
            <text key={x} x={textX} y={14}>
              {text}
            </text>
          ))}
        </svg>
      </div>
      <div
        ref={ground}
        class={`wf-rows ${isMarked ? 'marked' : ''}`}
        role="tree"
        aria-label="Jobs in time"
        aria-activedescendant={rows.length === 0 ? undefined : `wf-${Math.min(active, rows.length - 1)}`}
        tabindex={0}
        onScroll={look}
        onKeyDown={(event) => pressed(event, props)}
      >
        <div role="none" style={{ height: `${first * rowHeight}px` }} />
        {rows.slice(first, last).map((row, i) => (
          <RowView
            key={row.key}
            {...props}
            row={row}
            index={first + i}
            width={width}
            ticks={ticks.map(({ x }) => x)}
            now={at}
          />
        ))}
        <div role="none" style={{ height: `${(rows.length - last) * rowHeight}px` }} />
      </div>
      {drag.selected !== null && <div class="wf-selected" style={drag.selected} />}
    </div>
  )
}

interface RowProps extends TreeProps {
  readonly row: Row
  readonly index: number
  readonly width: number
  readonly ticks: readonly number[]
  readonly now: number
}

function RowView(props: RowProps): JSX.Element {
  const { row, rows, id, index, active, open, act, setActive, span, width, ticks, now: at, onCheckpoint } = props
  const isOpen = row.kind === 'states' ? null : row.isOpen
  const shapes = useMemo(() => shapesOf(row, span, width, at), [row, span.from, span.to, width, at])
  return (
    <div
      id={`wf-${index}`}
      class={`wf-row ${row.kind} ${index === active ? 'active' : ''} ${row.kind === 'job' && row.lane.state === 'dead' ? 'trouble' : ''}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={isOpen ?? undefined}
      aria-selected={index === active}
      aria-setsize={rows.length}
      aria-posinset={index + 1}
      onClick={() => setActive(index)}
    >
      <span class="wf-label" style={{ paddingLeft: `${Math.min(row.depth, 6) * 14}px` }}>
        <i
          class={`wf-arrow ${isOpen === null ? '' : isOpen ? 'open' : 'shut'}`}
          onClick={() => isOpen !== null && open(row, !isOpen)}
        />
        {row.kind !== 'states' && <i class={`dot tone-${row.kind === 'job' ? row.lane.state : row.state}`} />}
        <span class="wf-name" title={labelOf(row)} onClick={() => act(row)}>
          {row.kind === 'job' ? <JobName lane={row.lane} isRoot={row.key === id} /> : labelOf(row)}
        </span>
        <span class="unseen">{shownIn(row, id)}</span>
      </span>
      <svg height={rowHeight} width={width} aria-hidden="true">
        {ticks.map((x) => (
          <path key={x} class="wf-line" d={`M${x} 0V${rowHeight}`} />
        ))}
        {shapes.map((shape, i) => (
          <ShapeView
            key={i}
            of={shape}
            onCheckpoint={row.kind === 'states' && row.lane.id === id ? onCheckpoint : undefined}
          />
        ))}
      </svg>
    </div>
  )
}

const JobName = ({ lane: { id, type }, isRoot }: { readonly lane: Lane; readonly isRoot: boolean }): JSX.Element =>
  isRoot ? (
    <b>{type}</b>
  ) : (
    <>
      <a href={jobLink(id)} tabindex={-1}>
        {type}
      </a>{' '}
      <span class="id muted">{id}</span>
    </>
  )

/** What the bars of a row show, for screen readers. */
function shownIn(row: Row, id: string): string {
  if (row.kind === 'states') return `: ${row.states.map(({ states }) => states).join(', then ')}`
  if (row.kind === 'fold') return ''
  const { state, errors } = row.lane
  const failed = errors.length === 0 ? '' : `, ${counted(errors.length, 'failed attempt')}`
  return `${row.key === id ? ` ${id}` : ''}, ${state}${failed}`
}

interface ShapeProps {
  readonly of: Shape
  readonly onCheckpoint: ((seq: number) => void) | undefined
}

function ShapeView({ of, onCheckpoint }: ShapeProps): JSX.Element {
  if (of.kind === 'error') {
    return (
      <path class="wf-error" d={`M${of.x} 2l5 9h-10z`}>
        <title>{of.title}</title>
      </path>
    )
  }
  if (of.kind === 'end') {
    return (
      <rect class={`wf-end tone-${of.tone}`} x={of.x - 2} y={3} width={4} height={20} rx={2}>
        <title>{of.title}</title>
      </rect>
    )
  }
  const { seq } = of
  const choose = seq === null || onCheckpoint === undefined ? undefined : () => onCheckpoint(seq)
  return (
    <g class={`wf-bar tone-${of.tone} ${choose === undefined ? '' : 'clickable'}`} onClick={choose}>
      <title>{of.title}</title>
      <rect x={of.x} y={of.y} width={of.width} height={of.height} rx={2} />
      {of.text !== '' && (
        <text x={Math.max(0, of.x) + 5} y={of.y + of.height / 2 + 4}>
          {of.text}
        </text>
      )}
    </g>
  )
}

/** The width of an element, kept current. */
function useWidth(of: { readonly current: Element | null }): number {
  const [width, setWidth] = useState(600)
  useEffect(() => {
    if (of.current === null) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(80, Math.floor(entry.contentRect.width)))
    })
    observer.observe(of.current)
    return () => observer.disconnect()
  }, [])
  return width
}

const dragMin = 6

/** A pull over the bars with the mouse chooses a time; the wheel with Ctrl shows less or more of it. */
function useDrag(axis: { readonly current: Element | null }, { span, whole, setSpan }: TreeProps) {
  const [range, setRange] = useState<readonly [number, number] | null>(null)
  const part = (clientX: number): number => {
    const box = axis.current?.getBoundingClientRect()
    return box === undefined ? 0 : (clientX - box.left) / Math.max(1, box.width)
  }
  const timeAt = (of: number): number => span.from + (span.to - span.from) * Math.max(0, Math.min(1, of))
  const onPointerDown = (event: TargetedPointerEvent<HTMLDivElement>): void => {
    const from = part(event.clientX)
    if (event.button !== 0 || event.pointerType === 'touch' || from < 0 || from > 1) return
    const { currentTarget } = event
    const startX = event.clientX
    const moved = ({ clientX }: PointerEvent): void => {
      if (Math.abs(clientX - startX) < dragMin) return setRange(null)
      setRange([startX, clientX])
    }
    const released = ({ clientX }: PointerEvent): void => {
      currentTarget.removeEventListener('pointermove', moved)
      removeEventListener('pointerup', released)
      setRange(null)
      if (Math.abs(clientX - startX) < dragMin) return
      const [a = 0, b = 0] = [timeAt(from), timeAt(part(clientX))].toSorted((left, right) => left - right)
      setSpan(zoomed({ from: a, to: b }, 1, whole))
    }
    currentTarget.addEventListener('pointermove', moved)
    addEventListener('pointerup', released)
  }
  const onWheel = (event: TargetedWheelEvent<HTMLDivElement>): void => {
    if (!event.ctrlKey) return
    event.preventDefault()
    setSpan(zoomed(span, event.deltaY > 0 ? 1.25 : 0.8, whole, Math.max(0, Math.min(1, part(event.clientX)))))
  }
  const box = axis.current?.parentElement?.getBoundingClientRect()
  const selected =
    range === null || box === undefined
      ? null
      : { left: `${Math.min(...range) - box.left}px`, width: `${Math.abs(range[1] - range[0])}px` }
  return { on: { onPointerDown, onWheel }, selected }
}

function pressed(event: KeyboardEvent, props: TreeProps): void {
  const { rows, active, setActive, open, act, span, whole, setSpan } = props
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const row = rows[active]
  const isOpen = row === undefined || row.kind === 'states' ? null : row.isOpen
  const to = (index: number): void => setActive(Math.max(0, Math.min(rows.length - 1, index)))
  const trouble = rows.findIndex((each, i) => i > active && hasTrouble(each))
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => to(active + 1),
    ArrowUp: () => to(active - 1),
    Home: () => to(0),
    End: () => to(rows.length - 1),
    ArrowRight: () => (isOpen === false && row !== undefined ? open(row, true) : to(active + 1)),
    ArrowLeft: () => {
      if (isOpen === true && row !== undefined) open(row, false)
      else to(rows.findLastIndex((each, i) => i < active && each.depth < (row?.depth ?? 0)))
    },
    Enter: () => row !== undefined && act(row),
    '+': () => setSpan(zoomed(span, 0.5, whole)),
    '-': () => setSpan(zoomed(span, 2, whole)),
    '0': () => setSpan('all'),
    '.': () => setSpan(panned(span, 0.25, whole)),
    ',': () => setSpan(panned(span, -0.25, whole)),
    f: () => to(trouble === -1 ? rows.findIndex(hasTrouble) : trouble),
  }
  const act1 = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined
  if (act1 === undefined) return
  act1()
  event.preventDefault()
  event.stopPropagation()
}
