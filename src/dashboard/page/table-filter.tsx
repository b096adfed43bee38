/** Filters of a table that is read whole, kept in the address: a text, and chips with the number of rows of each. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
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

/** Rows that are shown at first, and with each press of the button. */
const rowsMax = 200

/** The first of the rows, and a button for the next ones: a browser stands still for seconds with thousands. */
export function useFirstRows<Row>(rows: readonly Row[]): readonly [shown: readonly Row[], button: JSX.Element | null] {
  const [max, setMax] = useState(rowsMax)
  const left = rows.length - max
  const button = (
    <button type="button" class="more" onClick={() => setMax(max + rowsMax)}>
      Show {number(Math.min(rowsMax, left))} of {number(left)} more
    </button>
  )
  return [rows.slice(0, max), left > 0 ? button : null]
}
