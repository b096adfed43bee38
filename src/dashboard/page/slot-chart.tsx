/** What the slots of a worker ran and run: a row per slot, a bar per run. */
import type { JSX } from 'preact'
import { counted } from '../../core/counted.ts'
import type { WorkerRecord } from '../../index.ts'
import type { EndedRun } from '../worker-runs.ts'
import { go, jobLink } from './router.ts'
import { brief, date, now } from './words.ts'

interface Bar {
  readonly id: string
  readonly type: string
  readonly tone: string
  readonly from: number
  /** Null: it runs. */
  readonly to: number | null
}

/** Rows that are drawn. */
const rowsMax = 20
const [width, rowHeight] = [1_000, 12]
/** The time that is shown at most and at least, ms. */
const [spanMax, spanMin] = [600_000, 1_000]

/** Puts bars into the first row that is free: those are not the numbers of slots, which nobody keeps. */
function rowsOf(bars: readonly Bar[]): readonly (readonly Bar[])[] {
  const rows: Bar[][] = []
  for (const bar of bars.toSorted((a, b) => a.from - b.from)) {
    const free = rows.find((row) => (row.at(-1)?.to ?? Infinity) <= bar.from)
    if (free !== undefined) free.push(bar)
    else rows.push([bar])
  }
  return rows
}

export function SlotChart({
  running,
  ended,
  slots,
}: {
  readonly running: WorkerRecord['running']
  readonly ended: readonly EndedRun[]
  readonly slots: number
}): JSX.Element | null {
  const at = now.value
  const all: readonly Bar[] = [
    ...ended.map(({ id, type, state, startedAt, finishedAt }) => ({
      id,
      type,
      tone: state,
      from: startedAt,
      to: finishedAt,
    })),
    ...running.map(({ id, type, since }) => ({ id, type, tone: 'running', from: since, to: null })),
  ]
  if (all.length === 0) return null
  const span = Math.min(spanMax, Math.max(spanMin, at - Math.min(...all.map(({ from }) => from))))
  const begin = at - span
  const rows = rowsOf(all.filter(({ to }) => to === null || to >= begin))
  const shown = rows.slice(0, Math.min(rowsMax, Math.max(1, slots, rows.length)))
  const x = (time: number): number => Math.max(0, ((time - begin) / span) * width)
  const height = shown.length * rowHeight
  const left = rows.length - shown.length
  return (
    <figure class="slot-chart">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        height={height}
        role="img"
        aria-label={`Runs of the last ${brief(span)}`}
      >
        {shown.map((bars, row) =>
          bars.map(({ id, type, tone, from, to }) => {
            const until = to ?? at
            return (
              <rect
                key={`${id} ${from}`}
                class={`tone-${tone}`}
                x={x(from)}
                y={row * rowHeight + 1}
                width={Math.max(2, x(until) - x(from))}
                height={rowHeight - 2}
                onClick={() => go(jobLink(id))}
              >
                <title>{`${id}, ${type}: ${brief(until - from)}${to === null ? ' until now' : `, ${tone}`}`}</title>
              </rect>
            )
          }),
        )}
      </svg>
      <figcaption class="legend muted">
        <span>{date(begin).slice(11)}</span>
        <span>{left > 0 ? counted(left, 'more row') : ''}</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}
