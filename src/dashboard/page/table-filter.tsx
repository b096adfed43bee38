/** Filters of a table that is read whole, kept in the address: a text, and chips with the number of rows of each. */
import type { JSX } from 'preact'
import { link, place, replace } from './router.ts'
import { number } from './words.ts'

interface TableFilter {
  readonly text: string
  /** The chip that is chosen. */
  readonly chip: string | null
}

export const useTableFilter = (): TableFilter => {
  const { query } = place.value
  return { text: query.get('text') ?? '', chip: query.get('only') }
}

/** Has one of the texts each of the words, in any case? */
export const matchesText = (wanted: string, ...texts: readonly string[]): boolean => {
  const all = texts.join('\n').toLowerCase()
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}

export function TableFilters({
  label,
  counts,
}: {
  readonly label: string
  readonly counts: readonly (readonly [chip: string, rows: number])[]
}): JSX.Element {
  const { screen } = place.value
  const { text, chip } = useTableFilter()
  const to = (next: Partial<TableFilter>): void => {
    const { text: wanted, chip: only } = { text, chip, ...next }
    replace(link(screen, '', { text: wanted, only }))
  }
  return (
    <div class="table-filters">
      <input
        type="search"
        data-search
        aria-label={`${label} that have`}
        placeholder="name, type, …"
        value={text}
        onInput={(event) => to({ text: event.currentTarget.value })}
      />
      <span class="choices" role="group" aria-label={label}>
        {counts.map(([name, rows]) => (
          <button
            key={name}
            type="button"
            class="quiet"
            aria-pressed={chip === name}
            disabled={rows === 0 && chip !== name}
            onClick={() => to({ chip: chip === name ? null : name })}
          >
            {name} {number(rows)}
          </button>
        ))}
      </span>
    </div>
  )
}
