/** Saved views: addresses of the list of jobs with a name, kept by this browser. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { ask } from './dialog.tsx'
import { place } from './router.ts'

const storedAs = 'jobchart views'
const viewsMax = 20

interface View {
  readonly name: string
  /** What follows the `#`. */
  readonly address: string
}

const isView = (value: unknown): value is View => {
  const { name, address } = (value ?? {}) as Partial<View>
  return typeof name === 'string' && typeof address === 'string' && address.startsWith('#/')
}

function stored(): readonly View[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storedAs) ?? '[]')
    return Array.isArray(value) ? value.filter(isView).slice(0, viewsMax) : []
  } catch {
    // Another version of the page, or a person, has written something else.
    return []
  }
}

const views = signal(stored())

function keep(next: readonly View[]): void {
  views.value = next
  localStorage.setItem(storedAs, JSON.stringify(next))
}

/** Saves the address of the screen. */
export function SaveView(): JSX.Element | null {
  const { query } = place.value
  if ([...query.keys()].length === 0 || views.value.some(({ address }) => address === location.hash)) return null
  const save = (): void =>
    ask({
      title: 'Save this view?',
      text: 'Its filters get a name in the navigation of this browser.',
      verb: 'Save',
      reason: 'Name',
      run: async (name) => {
        const view = { name: name === '' ? 'View' : name, address: location.hash }
        keep([view, ...views.value.filter((each) => each.name !== view.name)].slice(0, viewsMax))
        return `${view.name} was saved.`
      },
    })
  return (
    <button type="button" class="quiet" onClick={save}>
      save view
    </button>
  )
}

/** In the navigation. */
export function Views(): JSX.Element | null {
  // The address decides which one is current.
  void place.value
  if (views.value.length === 0) return null
  return (
    <ul class="views" aria-label="Saved views">
      {views.value.map(({ name, address }) => (
        <li key={name}>
          <a href={address} aria-current={address === location.hash ? 'page' : undefined}>
            {name}
          </a>
          <button
            type="button"
            class="quiet"
            aria-label={`Forget ${name}`}
            onClick={() => keep(views.value.filter((each) => each.name !== name))}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  )
}
