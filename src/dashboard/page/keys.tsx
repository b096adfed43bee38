/** The keyboard: screens, search, rows and help. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { go, link } from './router.ts'

export const screens = [
  { key: 'o', screen: '', title: 'Overview' },
  { key: 'j', screen: 'jobs', title: 'Jobs' },
  { key: 'd', screen: 'dead', title: 'Dead' },
  { key: 's', screen: 'schedules', title: 'Schedules' },
  { key: 'w', screen: 'workers', title: 'Workers' },
  { key: 'c', screen: 'charts', title: 'Charts' },
] as const

const help = signal(false)
let goAt = 0

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input:not([type=checkbox]), select, textarea, [contenteditable]')

function move(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

function search(): void {
  const box = document.querySelector<HTMLInputElement>('[data-search]')
  if (box !== null) return box.focus()
  go(link('find'))
  setTimeout(() => document.querySelector<HTMLInputElement>('[data-search]')?.focus(), 50)
}

function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') !== null) return
  if (event.key === 'Escape') {
    if (isTyping(event.target)) (event.target as HTMLElement).blur()
    else if (history.length > 1) history.back()
    return
  }
  if (isTyping(event.target)) return
  const isAfterG = performance.now() - goAt < 1_500
  goAt = 0
  const screen = isAfterG ? screens.find(({ key }) => key === event.key) : undefined
  if (screen !== undefined) go(link(screen.screen))
  else if (event.key === 'g') goAt = performance.now()
  else if (event.key === 'j') move(1)
  else if (event.key === 'k') move(-1)
  else if (event.key === '?') help.value = true
  else if (event.key === 'Enter') {
    const { activeElement } = document
    const href = activeElement?.matches('[data-row]') === true ? activeElement.getAttribute('data-href') : null
    if (href !== null) go(href)
    return
  } else if (event.key === 'x') {
    document.activeElement?.closest('[data-row]')?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
  } else if (event.key === '/') search()
  else return
  event.preventDefault()
}

export const startKeys = (): void => addEventListener('keydown', pressed)

export function Help(): JSX.Element | null {
  return help.value ? <HelpDialog /> : null
}

function HelpDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const rows: readonly (readonly [string, string])[] = [
    ['Ctrl+K', 'commands'],
    ['/', 'search jobs'],
    ['j k', 'next and previous row'],
    ['Enter', 'open the row'],
    ['x', 'choose the row'],
    ...screens.map(({ key, title }) => [`g ${key}`, title] as const),
    ['Esc', 'back'],
    ['← →', 'in a waterfall: close and open a row'],
    ['+ - 0', 'less time, more, all of it'],
    [', .', 'earlier, later'],
    ['f', 'the next row with a failure'],
  ]
  return (
    <dialog ref={dialog} onClose={() => (help.value = false)} aria-labelledby="help">
      <h2 id="help">Keys</h2>
      <dl class="keys">
        {rows.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <footer>
          <button type="submit">Close</button>
        </footer>
      </form>
    </dialog>
  )
}

export const showHelp = (): void => void (help.value = true)
