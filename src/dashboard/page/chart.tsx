/** A chart in the page: loaded once as SVG, then kept current by changing its texts and classes. */
import { effect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { countBadgeWidth, shortNumber } from '../../chart/count-badge.ts'
import { ownValue } from '../../core/own-value.ts'
import type { PictureTheme } from '../picture-document.ts'
import { againMs, get, isPassing } from './api.ts'
import { useLive } from './live.ts'
import { Choices } from './parts.tsx'
import { chartDocument, SavePicture } from './save-picture.tsx'
import { countdown, now } from './words.ts'

interface ChartProps {
  /** A path of the API. */
  readonly path: string
  /** Another one: the picture is loaded again. */
  readonly revision?: string
  /** The number in each state, by its path. */
  readonly counts?: Readonly<Record<string, number>> | undefined
  /** Lights up what jobs of this type do; null: of all. */
  readonly pulse?: string | null | undefined
  readonly onState?: ((state: string) => void) | undefined
  /** Gets the id of a transition whose label is clicked. */
  readonly onTransition?: ((id: string) => void) | undefined
  /** Events that may be sent now: their labels become buttons. */
  readonly events?: readonly string[] | undefined
  readonly onEvent?: ((event: string) => void) | undefined
  /** Ids of the states that are filled, instead of those that the picture was drawn with. */
  readonly active?: readonly string[] | undefined
  /** Timers that count down at their transitions. */
  readonly timers?: readonly ChartTimer[] | undefined
  /** The time from which they count, ms since the epoch; the present by default. */
  readonly timersFrom?: number | undefined
  /** Has it a part of the window's height at most? A higher one is scrolled, or shown whole and small. */
  readonly isCapped?: boolean
}

interface ChartTimer {
  /** The event of its transition. */
  readonly event: string
  /** ms since the epoch, by the server's clock. */
  readonly at: number
}

const pulseMs = 900

export function Chart({
  path,
  revision,
  counts,
  pulse,
  onState,
  onTransition,
  events,
  onEvent,
  active,
  timers,
  timersFrom,
  isCapped = false,
}: ChartProps): JSX.Element {
  const ground = useRef<HTMLDivElement>(null)
  const { svg, problem } = usePicture(path, revision)
  useEffect(() => {
    if (svg === null || ground.current === null) return
    const picture = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement
    ground.current.replaceChildren(document.importNode(picture, true))
  }, [svg])
  const size = useSize(ground, svg, isCapped)
  useEffect(() => showCounts(ground.current, counts), [svg, counts])
  useEffect(() => markEvents(ground.current, events ?? []), [svg, events])
  useEffect(() => fillStates(ground.current, active), [svg, active])
  useEffect(() => showActive(ground.current), [svg, active, size.shown])
  useEffect(() => scrollByKeys(ground.current), [svg, size.shown])
  useEffect(() => countDown(ground.current, timers ?? [], timersFrom), [svg, timers, timersFrom])
  useLive({
    onTransitions: (transitions) => {
      if (pulse === undefined || ground.current === null) return
      const taken = new Set<string>()
      for (const { type, from, event } of transitions)
        if (pulse === null || pulse === type) taken.add(`${from} ${event}`)
      light(ground.current, taken)
    },
  })
  const clicked = (target: EventTarget | null): void => {
    if (!(target instanceof Element)) return
    const event = target.closest('[data-event].jc-sendable')?.getAttribute('data-event')
    if (event !== null && event !== undefined) return onEvent?.(event)
    const transition = target.closest('[data-transition]')?.getAttribute('data-transition')
    if (onTransition !== undefined && transition !== null && transition !== undefined) return onTransition(transition)
    const state = target.closest('[data-path]')?.getAttribute('data-path')
    if (state !== null && state !== undefined) onState?.(state)
  }
  if (problem !== null && svg === null) return <p class="muted">{problem}</p>
  return (
    <>
      {svg !== null && (
        <div class="chart-tools">
          {size.isChosen && <Choices of={sizes} chosen={size.shown} label="Size of the chart" choose={size.choose} />}
          <SavePicture name={pictureName(path)} make={(theme) => pictureOf(ground.current, theme)} />
        </div>
      )}
      {/* What a click does is also in the buttons and links beside the chart. */}
      <div
        ref={ground}
        class={`chart ${isCapped ? `capped ${size.shown}` : ''} ${onState === undefined ? '' : 'clickable'} ${onTransition === undefined ? '' : 'with-transitions'} ${svg === null ? 'waiting-for-picture' : ''}`}
        onClick={(event) => clicked(event.target)}
      />
    </>
  )
}

/** What a chart shows, and of what: the job, or else the type. */
function pictureName(path: string): string {
  const [file = '', query] = path.slice(path.lastIndexOf('/') + 1).split('?')
  const of = new URLSearchParams(query)
  return [file.replace('.svg', ''), of.get('job') ?? of.get('type')].filter((part) => part !== null).join('-')
}

function pictureOf(ground: HTMLElement | null, theme: PictureTheme): string {
  const picture = ground?.querySelector('svg') ?? null
  if (picture === null) throw new Error('The chart is not loaded.')
  return chartDocument(picture, theme)
}

/** A picture of the API; one that cannot be loaded for a while is asked for again. */
function usePicture(path: string, revision: string | undefined) {
  const [svg, setSvg] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = async (): Promise<void> => {
      try {
        setSvg(await get<string>(path, controller.signal))
        setProblem(null)
      } catch (error) {
        if (controller.signal.aborted) return
        setProblem(error instanceof Error ? error.message : String(error))
        if (isPassing(error)) timer = setTimeout(() => void load(), againMs)
      }
    }
    void load()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [path, revision])
  return { svg, problem }
}

const sizes = { whole: 'Whole', full: 'Full size' } as const
type Size = keyof typeof sizes

/** As in the styles. */
const capPart = 0.6
/** A chart that is smaller than this part of its size cannot be read. */
const readable = 0.6

/** How large a chart with a cap is shown: whole, unless it cannot be read so. */
function useSize(ground: { readonly current: HTMLElement | null }, svg: string | null, isCapped: boolean) {
  const [chosen, choose] = useState<Size | null>(null)
  const [scale, setScale] = useState(1)
  useEffect(() => {
    const picture = ground.current?.querySelector('svg') ?? null
    if (!isCapped || picture === null || ground.current === null) return
    const { width, height } = picture.viewBox.baseVal
    setScale(Math.min(1, (innerHeight * capPart) / height, ground.current.clientWidth / width))
  }, [svg, isCapped])
  const shown: Size = chosen ?? (scale < readable ? 'full' : 'whole')
  return { shown, choose, isChosen: isCapped && scale < 1 }
}

const scrolls = ({ scrollWidth, clientWidth, scrollHeight, clientHeight }: HTMLElement): boolean =>
  scrollWidth > clientWidth || scrollHeight > clientHeight

/** A picture that is larger than its place is reached by the Tab key: not every browser does that by itself. */
function scrollByKeys(ground: HTMLElement | null): void {
  if (ground === null) return
  if (scrolls(ground)) ground.tabIndex = 0
  else ground.removeAttribute('tabindex')
}

/** Where the picture is larger than its place: shows the state in which the job stands, or else the middle. */
function showActive(ground: HTMLElement | null): void {
  if (ground === null || !scrolls(ground)) return
  // The inner ones are the last.
  const state = [...ground.querySelectorAll('.jc-active')].at(-1)
  const box = (state ?? ground.firstElementChild)?.getBoundingClientRect()
  if (box === undefined) return
  const place = ground.getBoundingClientRect()
  ground.scrollLeft += box.left + box.width / 2 - place.left - ground.clientWidth / 2
  if (state !== undefined) ground.scrollTop += box.top + box.height / 2 - place.top - ground.clientHeight / 2
}

function showCounts(ground: HTMLElement | null, counts: ChartProps['counts']): void {
  if (ground === null || counts === undefined) return
  for (const badge of ground.querySelectorAll('[data-count]')) {
    const count = ownValue(counts, badge.getAttribute('data-path') ?? '')
    const text = badge.querySelector('text')
    const box = badge.querySelector('rect')
    if (count === undefined || text === null || box === null) continue
    const shown = shortNumber(count)
    badge.classList.toggle('zero', count === 0)
    if (text.textContent === shown) continue
    text.textContent = shown
    // The badge grows to the left: its right edge stays where it is.
    const right = Number(
      badge.getAttribute('data-right') ?? Number(box.getAttribute('x')) + Number(box.getAttribute('width')),
    )
    badge.setAttribute('data-right', String(right))
    const width = countBadgeWidth(shown)
    box.setAttribute('width', String(width))
    box.setAttribute('x', String(right - width))
    text.setAttribute('x', String(right - width / 2))
  }
}

function markEvents(ground: HTMLElement | null, events: readonly string[]): void {
  for (const label of ground?.querySelectorAll('[data-event]') ?? []) {
    label.classList.toggle('jc-sendable', events.includes(label.getAttribute('data-event') ?? ''))
  }
}

function fillStates(ground: HTMLElement | null, active: ChartProps['active']): void {
  for (const state of ground?.querySelectorAll('[data-state]') ?? []) {
    const drawn = state.getAttribute('data-drawn') ?? String(state.classList.contains('jc-active'))
    state.setAttribute('data-drawn', drawn)
    const isActive = active === undefined ? drawn === 'true' : active.includes(state.getAttribute('data-state') ?? '')
    state.classList.toggle('jc-active', isActive)
  }
}

const timerHeight = 14

/** Puts the time that is left at the label of each timer's transition, and keeps it current. @returns what ends that */
function countDown(ground: HTMLElement | null, timers: readonly ChartTimer[], from: number | undefined): () => void {
  const badges = timers.flatMap(({ event, at }) => {
    const row = ground?.querySelector(`[data-transition][data-event="${CSS.escape(event)}"]`) ?? null
    const label = row?.closest('.jc-label') ?? null
    const box = label?.querySelector('rect') ?? null
    return label === null || box === null ? [] : [{ at, ...timerBadge(label, box) }]
  })
  const stop = effect(() => {
    for (const { at, badge, place } of badges) {
      const left = countdown(at, from ?? now.value)
      if (badge.querySelector('text')?.textContent !== left) place(left)
    }
  })
  return () => {
    stop()
    for (const { badge } of badges) badge.remove()
  }
}

const svgElement = (name: string): SVGElement => document.createElementNS('http://www.w3.org/2000/svg', name)

/** A pill on the lower edge of a label. The panel beside the chart has its text for screen readers. */
function timerBadge(label: Element, box: Element) {
  const [x = 0, y = 0, width = 0, height = 0] = ['x', 'y', 'width', 'height'].map((name) =>
    Number(box.getAttribute(name)),
  )
  const badge = svgElement('g')
  badge.setAttribute('class', 'jc-timer')
  badge.setAttribute('aria-hidden', 'true')
  const pill = svgElement('rect')
  const text = svgElement('text')
  badge.append(pill, text)
  label.append(badge)
  const place = (left: string): void => {
    text.textContent = left
    const wide = left.length * 6.2 + 14
    const values = {
      x: x + (width - wide) / 2,
      y: y + height - 4,
      width: wide,
      height: timerHeight,
      rx: timerHeight / 2,
    }
    for (const [name, value] of Object.entries(values)) pill.setAttribute(name, String(value))
    text.setAttribute('x', String(x + width / 2))
    text.setAttribute('y', String(y + height - 4 + timerHeight - 3.5))
  }
  return { badge, place }
}

/** Lights the labels of what was taken: `from EVENT`. */
function light(ground: HTMLElement, taken: ReadonlySet<string>): void {
  if (taken.size === 0 || matchMedia('(prefers-reduced-motion: reduce)').matches) return
  for (const group of ground.querySelectorAll('[data-transition]')) {
    const from = group.getAttribute('data-transition')?.split(/[.: ]/)[1]
    if (!taken.has(`${from} ${group.getAttribute('data-event')}`)) continue
    const label = group.closest('.jc-label') ?? group
    label.classList.add('jc-pulse')
    setTimeout(() => label.classList.remove('jc-pulse'), pulseMs)
  }
}
