/**
 * The command palette (Ctrl-K or Cmd-K): screens, queues, everything that the search finds, and the actions of the
 * screen it is opened on.
 */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { FindResult } from '../../index.ts'
import { useResource } from './api.ts'
import { readSearch } from './filters.ts'
import {
  asTyped,
  findPath,
  findSaid,
  goFind,
  hitCount,
  hitLink,
  hitText,
  hitWords,
  otherLink,
  otherWords,
  useTyped,
  withoutNearFilter,
} from './find.tsx'
import { showHelp, screens } from './keys.tsx'
import { types } from './live.ts'
import { go, link } from './router.ts'

interface Command {
  /** `Action`, `Screen`, `Queue`, or what a hit of the search is. */
  readonly kind: string
  readonly title: string
  /** What it belongs to, or its keys. */
  readonly aside: string
  readonly run: () => void
}

/** More are found by typing. */
const shownMax = 50

interface Opening {
  readonly number: number
  /** Those of the screen it is opened on. */
  readonly actions: readonly Command[]
}

/** Null while the palette is closed. */
const opening = signal<Opening | null>(null)
let openings = 0

export function startPalette(): void {
  addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
    event.preventDefault()
    const open = document.querySelector('dialog[open]')
    // A dialog that was closed a moment ago has not reported it yet: what counts is what is on the screen.
    if (open === null) showPalette()
    else if (open.classList.contains('palette')) opening.value = null
  })
}

export function showPalette(): void {
  opening.value = { number: ++openings, actions: actions() }
}

/** What the buttons of the screen do. */
function actions(): Command[] {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('main .actions button:not(:disabled)')]
  return buttons.map((button) => {
    const heading = button.closest('.panel')?.querySelector('h2') ?? document.querySelector('main h1')
    const aside = textOf(heading?.querySelector('.id') ?? heading)
    return { kind: 'Action', title: textOf(button), aside, run: () => button.click() }
  })
}

const textOf = (element: Element | null | undefined): string => element?.textContent?.trim() ?? ''

function places(): Command[] {
  const shown = screens.map(({ key, screen, title }): Command => ({
    kind: 'Screen',
    title,
    aside: `g ${key}`,
    run: () => go(link(screen)),
  }))
  const queues = types.value.map((type): Command => ({
    kind: 'Queue',
    title: type,
    aside: '',
    run: () => go(link('queue', type)),
  }))
  return [...shown, { kind: 'Screen', title: 'Keys', aside: '?', run: showHelp }, ...queues]
}

/**
 * The commands that have each of the words typed, those whose title begins with the first of them first. One word must
 * be of the command itself: the id of a job that is typed on its own screen must not choose an action.
 */
function found(commands: readonly Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const score = ({ title, aside, kind }: Command): number => {
    const own = `${kind} ${title}`.toLowerCase()
    const all = `${own} ${aside.toLowerCase()}`
    if (!words.every((word) => all.includes(word))) return 0
    if (words.length > 0 && !words.some((word) => own.includes(word))) return 0
    return title.toLowerCase().startsWith(words[0] ?? '') ? 2 : 1
  }
  const matching = commands
    .map((command) => ({ command, points: score(command) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points)
  return matching.map(({ command }) => command).slice(0, shownMax)
}

/** What the search has found for a text, and the screen that shows more of it. */
function searchCommands(typed: string, result: FindResult | null): Command[] {
  const text = typed.trim()
  if (text === '') return []
  const { query, id } = readSearch(typed)
  const hits = (result?.hits ?? []).map((hit): Command => ({
    kind: result?.near === null ? hitWords[hit.kind] : 'Near',
    title: hitText(hit),
    aside: hitCount(hit),
    run: () => go(hitLink(hit)),
  }))
  const others = (result?.others ?? []).map((other): Command => ({
    kind: otherWords[other.kind],
    title: other.name,
    aside: other.of,
    run: () => go(otherLink(other)),
  }))
  const filter = { kind: 'Filter', title: `Find ${text}`, aside: '', run: () => go(link('jobs', '', query)) }
  const search = { kind: 'Search', title: `Search for ${text}`, aside: 'all hits', run: () => goFind(text) }
  return [...(Object.keys(query).length > 0 ? [filter] : []), ...hits, ...others, ...(id === null ? [] : [search])]
}

export function Palette(): JSX.Element | null {
  return opening.value === null ? null : <PaletteDialog key={opening.value.number} of={opening.value} />
}

function PaletteDialog({ of }: { readonly of: Opening }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  // The queues may become known while it is open.
  const text = useTyped(typed)
  const result = useResource<FindResult>(findPath(text, 5))
  const answer = useMemo(
    () => (text === typed && result.data !== null ? withoutNearFilter(result.data) : null),
    [text, typed, result.data],
  )
  const commands = useMemo(
    () => [...found([...of.actions, ...places()], typed), ...searchCommands(typed, answer)],
    [of, typed, types.value, answer],
  )
  const said = answer === null || typed.trim() === '' ? '' : findSaid(answer)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [at])
  const closed = (): void => {
    if (opening.value === of) opening.value = null
  }
  const run = (command: Command | undefined): void => {
    if (command === undefined) return
    // Closed first: the command may open a dialog of its own.
    dialog.current?.close()
    command.run()
  }
  const pressed = (event: KeyboardEvent): void => {
    const last = commands.length - 1
    if (event.key === 'ArrowDown') setAt(at >= last ? 0 : at + 1)
    else if (event.key === 'ArrowUp') setAt(at <= 0 ? last : at - 1)
    else if (event.key === 'Enter') run(commands[at])
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={dialog} class="palette" onClose={closed} aria-label="Commands">
      <input
        role="combobox"
        aria-label="Search: a command, a queue, or anything of a job"
        aria-expanded="true"
        aria-controls="commands"
        aria-autocomplete="list"
        aria-activedescendant={commands.length === 0 ? undefined : `command-${at}`}
        placeholder="A screen, a queue, an action; an id, a key, a tag, an error …"
        autocomplete="off"
        {...asTyped}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={pressed}
      />
      {said !== '' && (
        <p class="muted hint" role="status">
          {said}
        </p>
      )}
      <ul id="commands" role="listbox" aria-label="Commands">
        {commands.map((command, i) => (
          <li
            key={`${command.kind} ${command.title} ${command.aside} ${i}`}
            id={`command-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => run(command)}
          >
            <small>{command.kind}</small>
            <span>{command.title}</span>
            <small>{command.aside}</small>
          </li>
        ))}
      </ul>
    </dialog>
  )
}
