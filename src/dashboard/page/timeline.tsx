/** The lifecycle of a job to scale: a bar in which each state has its colour, and each transition below it. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import type { JobState } from '../../index.ts'
import type { JobView } from '../job-view.ts'
import { clock, date, duration, now } from './words.ts'

const width = 1_000
/** What is too short to be seen is shown so wide. */
const least = 3

interface Stay {
  readonly state: JobState
  readonly from: number
  readonly to: number
}

export function Timeline({ of: { job } }: { readonly of: JobView }): JSX.Element {
  const { history, finishedAt } = job
  const end = finishedAt ?? Math.max(now.value, history.at(-1)?.at ?? 0)
  const stays = history
    .map(({ to, at }, i): Stay => ({ state: to, from: at, to: history[i + 1]?.at ?? end }))
    .filter(({ to, from }, i) => to > from || i === history.length - 1)
  const whole = Math.max(1, end - (history[0]?.at ?? end))
  const wide = stays.map(({ from, to }) => Math.max(least, ((to - from) / whole) * width))
  const sum = Math.max(
    1,
    wide.reduce((total, each) => total + each, 0),
  )
  const xs = wide.map((_, i) => (wide.slice(0, i).reduce((total, each) => total + each, 0) / sum) * width)
  const spent = new Map<JobState, number>()
  for (const { state, from, to } of stays) spent.set(state, (spent.get(state) ?? 0) + to - from)
  return (
    <>
      <svg
        class="timeline"
        viewBox={`0 0 ${width} 20`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${duration(whole)} in ${counted(stays.length, 'state')}`}
      >
        {stays.map(({ state, from, to }, i) => (
          <rect
            key={i}
            class={`tone-${state}`}
            x={xs[i] ?? 0}
            width={Math.max(1, ((wide[i] ?? 0) / sum) * width - 1)}
            height={20}
          >
            <title>{`${state}, ${duration(to - from)}`}</title>
          </rect>
        ))}
      </svg>
      <p class="legend">
        {[...spent]
          .filter(([, ms]) => ms > 0)
          .map(([state, ms]) => (
            <span key={state}>
              <i class={`dot tone-${state}`} /> {state} {duration(ms)}
            </span>
          ))}
        <span class="muted">{duration(whole)} in all</span>
      </p>
      <details class="moves" open={history.length <= 12}>
        <summary>{counted(history.length, 'move')}</summary>
        <ol>
          {history.map(({ seq, at, event, from, to, attempt, reason }, i) => (
            <li key={seq}>
              <time title={date(at)}>{clock(at)}</time>
              <span class="muted">{i === 0 ? '' : `+${duration(at - (history[i - 1]?.at ?? at))}`}</span>
              <b>{event}</b>
              <span>
                {from === null || from === to ? '' : `${from} → `}
                <span class={`ink-${to}`}>{to}</span>
                {event === 'CLAIM' ? <span class="muted">, attempt {attempt}</span> : ''}
                {reason === undefined ? '' : <span class="muted">, {reason}</span>}
              </span>
            </li>
          ))}
        </ol>
      </details>
    </>
  )
}
