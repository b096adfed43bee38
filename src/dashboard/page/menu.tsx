/** A button that opens a list of buttons. */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface MenuProps {
  readonly title: string
  /** The words of each choice, and what it does. */
  readonly of: readonly (readonly [words: string, act: () => void])[]
}

/** Between the list and the edge of the window, px. */
const edge = 8

export function Menu({ title, of }: MenuProps): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const close = (): void => menu.current?.removeAttribute('open')
  useEffect(() => {
    const left = new AbortController()
    const { signal } = left
    const pressed = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || menu.current?.open !== true) return
      // It closes the menu only: to the page it means back.
      event.stopPropagation()
      close()
      menu.current?.querySelector('summary')?.focus()
    }
    const pointed = ({ target }: Event): void => {
      if (!(target instanceof Node) || menu.current?.contains(target) !== true) close()
    }
    addEventListener('keydown', pressed, { capture: true, signal })
    addEventListener('pointerdown', pointed, { capture: true, signal })
    return () => left.abort()
  }, [])
  return (
    <details class="menu" ref={menu} onToggle={() => moveIn(list.current)}>
      <summary>{title}</summary>
      <div ref={list}>
        {of.map(([words, act]) => (
          <button
            key={words}
            type="button"
            class="quiet"
            onClick={() => {
              close()
              act()
            }}
          >
            {words}
          </button>
        ))}
      </div>
    </details>
  )
}

/** Moves a list that would reach out of the window to the left. */
function moveIn(list: HTMLElement | null): void {
  if (list === null) return
  list.style.left = '0'
  // Of the body, not of the window: that has room for a scrollbar, too.
  const over = list.getBoundingClientRect().right + edge - document.body.getBoundingClientRect().right
  if (over > 0) list.style.left = `${-over}px`
}
