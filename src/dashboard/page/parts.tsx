/** Small parts that every screen is made of. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobState, Json, StateCounts } from '../../index.ts'
import type { ApiError, Resource } from './api.ts'
import { age, date, number } from './words.ts'
import { link } from './router.ts'

type Children = { readonly children?: ComponentChildren }

export const State = ({ state }: { readonly state: JobState }): JSX.Element => (
  <span class={`state tone-${state}`}>{state}</span>
)

export const Time = ({ at }: { readonly at: number | null }): JSX.Element =>
  at === null ? <span class="muted">–</span> : <time title={date(at)}>{age(at)}</time>

interface PanelProps extends Children {
  readonly title: string
  readonly aside?: ComponentChildren
  readonly id?: string
  /** Can it be closed? On a phone it is closed at first. */
  readonly folds?: boolean
  /** Another number: it opens, is scrolled to, and its first field gets the focus. 0 at first. */
  readonly shown?: number
}

export const Panel = ({ title, aside, children, id, folds = false, shown = 0 }: PanelProps): JSX.Element =>
  folds ? (
    <Fold title={title} aside={aside} shown={shown}>
      {children}
    </Fold>
  ) : (
    <section class="panel" id={id}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  )

const isNarrow = (): boolean => matchMedia('(max-width: 720px)').matches

function Fold({ title, aside, children, shown = 0 }: Omit<PanelProps, 'folds' | 'id'>): JSX.Element {
  const [isOpen, setOpen] = useState(!isNarrow())
  const ground = useRef<HTMLElement>(null)
  const done = useRef(shown)
  useEffect(() => {
    if (done.current === shown || ground.current === null) return
    if (!isOpen) return setOpen(true)
    done.current = shown
    ground.current.scrollIntoView({ block: 'start' })
    ground.current.querySelector('input')?.focus({ preventScroll: true })
  }, [shown, isOpen])
  return (
    <section class="panel" ref={ground}>
      <header>
        <h2>
          <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {title}
          </button>
        </h2>
        {isOpen && aside}
      </header>
      {isOpen && children}
    </section>
  )
}

export const Empty = ({ title, children }: Children & { readonly title: string }): JSX.Element => (
  <div class="empty">
    <strong>{title}</strong>
    <p>{children}</p>
  </div>
)

const Problem = ({ error }: { readonly error: ApiError }): JSX.Element => (
  <div class="problem" role="alert">
    <strong>{error.message}</strong>
    <p>
      {error.hint} <code>{error.code}</code>
    </p>
  </div>
)

/** What was loaded, or what stands in its place: grey lines, or what went wrong. */
export function Loaded<Answer>({
  of: { data, error },
  children,
}: {
  readonly of: Resource<Answer>
  readonly children: (data: Answer) => ComponentChildren
}): JSX.Element {
  if (data !== null)
    return (
      <>
        {error !== null && <Problem error={error} />}
        {children(data)}
      </>
    )
  if (error !== null) return <Problem error={error} />
  return (
    <div class="loading" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
    </div>
  )
}

/** A number and what it counts; leads to the jobs. */
const Figure = ({
  label,
  value,
  tone,
  href,
}: {
  readonly label: string
  readonly value: number
  readonly tone: string
  readonly href: string
}): JSX.Element => (
  <a class={`figure ${value === 0 ? 'zero' : ''}`} href={href}>
    <b>{number(value)}</b>
    <span>
      <i class={`dot tone-${tone}`} />
      {label}
    </span>
  </a>
)

const shownStates = ['queued', 'running', 'retrying', 'scheduled', 'waiting', 'done', 'dead', 'cancelled'] as const

/** How many jobs are in each state: all, or those of a type. */
export const Figures = ({ of, type }: { readonly of: StateCounts; readonly type?: string }): JSX.Element => (
  <div class={`figures ${type === undefined ? '' : 'narrow-only'}`}>
    {shownStates.map((state) => (
      <Figure key={state} label={state} value={of[state]} tone={state} href={link('jobs', '', { type, state })} />
    ))}
  </div>
)

/** Bars of a time, each a period of it. @param titles what each stands for, shown while it is pointed at */
export function Bars({
  values,
  titles,
  tone,
  label,
}: {
  readonly values: readonly number[]
  readonly titles: readonly string[]
  readonly tone: string
  readonly label: string
}): JSX.Element {
  const width = 240 / values.length
  const most = Math.max(1, ...values)
  return (
    <svg class={`bars tone-${tone}`} viewBox="0 0 240 40" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="base" d="M0 39.5H240" />
      {values.map((value, i) => {
        const height = value === 0 ? 0 : Math.max(2, (value / most) * 38)
        return (
          <g key={i}>
            <title>{titles[i]}</title>
            <rect class="ground" x={i * width} y={0} width={width} height={40} />
            <rect x={i * width} y={39 - height} width={width * 0.75} height={height} />
          </g>
        )
      })}
    </svg>
  )
}

/** JSON as a tree: objects open and close. */
export function Tree({
  value,
  name,
  depth = 0,
}: {
  readonly value: Json | undefined
  readonly name?: string
  readonly depth?: number
}): JSX.Element {
  const label = name === undefined ? null : <span class="key">{name}: </span>
  if (value === undefined) return <div class="leaf muted">nothing</div>
  if (value === null || typeof value !== 'object') {
    return (
      <div class="leaf">
        {label}
        <span class={`value ${value === null ? 'null' : typeof value}`}>{JSON.stringify(value)}</span>
      </div>
    )
  }
  const entries = Object.entries(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) {
    return (
      <div class="leaf">
        {label}
        {open}
        {close}
      </div>
    )
  }
  return (
    <details class="branch" open={depth < 2}>
      <summary>
        {label}
        {open} <span class="muted">{number(entries.length)}</span> {close}
      </summary>
      {entries.slice(0, 200).map(([key, each]) => (
        <Tree key={key} name={key} value={each} depth={depth + 1} />
      ))}
      {entries.length > 200 && <div class="leaf muted">and {number(entries.length - 200)} more: copy to see them</div>}
    </details>
  )
}

function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }): JSX.Element {
  const [done, setDone] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setDone(true)
    setTimeout(() => setDone(false), 1_500)
  }
  return (
    <button class="quiet" type="button" onClick={() => void copy()}>
      {done ? 'Copied' : label}
    </button>
  )
}

export const Payload = ({
  title,
  value,
}: {
  readonly title: string
  readonly value: Json | undefined
}): JSX.Element => (
  <Panel title={title} aside={value === undefined ? null : <Copy text={JSON.stringify(value, null, 2)} />}>
    <div class="tree">
      <Tree value={value} />
    </div>
  </Panel>
)

export const QueueLink = ({ type }: { readonly type: string }): JSX.Element => (
  <a class="type" href={link('queue', type)} title={type}>
    {type}
  </a>
)

/** Buttons of which one is pressed: what a panel shows. */
export function Choices<Choice extends string>({
  of,
  chosen,
  label,
  choose,
}: {
  /** The words of each choice. */
  readonly of: Readonly<Record<Choice, string>>
  readonly chosen: Choice
  /** What is chosen, for screen readers. */
  readonly label: string
  readonly choose: (choice: Choice) => void
}): JSX.Element {
  return (
    <span class="choices" role="group" aria-label={label}>
      {(Object.keys(of) as Choice[]).map((each) => (
        <button key={each} type="button" class="quiet" aria-pressed={each === chosen} onClick={() => choose(each)}>
          {of[each]}
        </button>
      ))}
    </span>
  )
}
