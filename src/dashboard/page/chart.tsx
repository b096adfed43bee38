/** A chart in the page: loaded once as SVG, then kept current by changing its texts and classes. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.ts'
import { useLive } from './live.ts'
import { number } from './words.ts'

interface ChartProps {
  /** A path of the API. */
  readonly path: string
  /** The number in each state, by the last part of its id. */
  readonly counts?: Readonly<Record<string, number>> | undefined
  /** Lights up what jobs of this type do; null: of all. */
  readonly pulse?: string | null | undefined
  readonly onState?: ((state: string) => void) | undefined
  /** Events that may be sent now: their labels become buttons. */
  readonly events?: readonly string[] | undefined
  readonly onEvent?: ((event: string) => void) | undefined
}

const pulseMs = 900

export function Chart({ path, counts, pulse, onState, events, onEvent }: ChartProps): JSX.Element {
  const ground = useRef<HTMLDivElement>(null)
  const [svg, setSvg] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    get<string>(path, controller.signal).then(
      (text) => {
        setSvg(text)
        setProblem(null)
      },
      (error: unknown) =>
        controller.signal.aborted || setProblem(error instanceof Error ? error.message : String(error)),
    )
    return () => controller.abort()
  }, [path])
  useEffect(() => {
    if (svg === null || ground.current === null) return
    const picture = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement
    ground.current.replaceChildren(document.importNode(picture, true))
  }, [svg])
  useEffect(() => showCounts(ground.current, counts), [svg, counts])
  useEffect(() => markEvents(ground.current, events ?? []), [svg, events])
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
    const state = target.closest('[data-state]')?.getAttribute('data-state')
    if (state !== null && state !== undefined) onState?.(state.split('.').slice(1).join('.'))
  }
  if (problem !== null && svg === null) return <p class="muted">{problem}</p>
  return (
    // What a click does is also in the buttons and links beside the chart.
    <div
      ref={ground}
      class={`chart ${onState === undefined ? '' : 'clickable'} ${svg === null ? 'waiting-for-picture' : ''}`}
      onClick={(event) => clicked(event.target)}
    />
  )
}

function showCounts(ground: HTMLElement | null, counts: ChartProps['counts']): void {
  if (ground === null || counts === undefined) return
  for (const badge of ground.querySelectorAll('[data-count]')) {
    const count = counts[badge.getAttribute('data-count')?.split('.').slice(1).join('.') ?? '']
    const text = badge.querySelector('text')
    const box = badge.querySelector('rect')
    if (count === undefined || text === null || box === null) continue
    const shown = count < 100_000 ? number(count) : `${Math.floor(count / 1_000)}k`
    badge.classList.toggle('zero', count === 0)
    if (text.textContent === shown) continue
    text.textContent = shown
    // The badge grows to the left: its right edge stays where it is.
    const right = Number(
      badge.getAttribute('data-right') ?? Number(box.getAttribute('x')) + Number(box.getAttribute('width')),
    )
    badge.setAttribute('data-right', String(right))
    const width = Math.max(20, shown.length * 7 + 10)
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
