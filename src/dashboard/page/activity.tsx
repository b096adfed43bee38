/** Activity over time: bars of one figure, and the panel of a queue with a choice of time. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Activity, ActivityBucket, ActivityFigures, QueueRates } from '../../index.ts'
import { segmentOf } from '../path-segment.ts'
import { useRepeated, useResource } from './api.ts'
import { useLive } from './live.ts'
import { Bars, Choices, Loaded, Panel } from './parts.tsx'
import { date, duration, number, rate } from './words.ts'

type Figure = keyof ActivityFigures

const sum = (buckets: readonly ActivityBucket[], figure: Figure): number =>
  buckets.reduce((all, bucket) => all + bucket[figure], 0)

export const total = ({ buckets }: Activity, figure: Figure): number => sum(buckets, figure)

export const Series = ({
  of: { buckets },
  figure,
  tone,
  label,
}: {
  readonly of: Activity
  readonly figure: Figure
  readonly tone: string
  readonly label: string
}): JSX.Element => (
  <Bars
    values={buckets.map((bucket) => bucket[figure])}
    titles={buckets.map((bucket) => `${date(bucket.at).slice(0, 16)}: ${number(bucket[figure])}`)}
    tone={tone}
    label={label}
  />
)

const choices = {
  'last hour': { query: 'period=minute&last=1h', bar: 'a bar is a minute' },
  'last day': { query: 'period=hour&last=1d', bar: 'a bar is an hour' },
  'last week': { query: 'period=hour&last=7d', bar: 'a bar is an hour' },
} as const
type Choice = keyof typeof choices

const choiceWords = Object.fromEntries(Object.keys(choices).map((each) => [each, each])) as Record<Choice, string>

const shown = [
  { figure: 'enqueued', tone: 'queued', what: 'enqueued' },
  { figure: 'done', tone: 'done', what: 'done' },
  { figure: 'failed', tone: 'dead', what: 'failed attempts' },
] as const

const unitOf = { minute: 'min', hour: 'h' } as const

/** `at most 96 / min`: what the highest bar stands for. */
export const most = ({ buckets, period }: Activity, figure: Figure): string =>
  `at most ${number(Math.max(0, ...buckets.map((bucket) => bucket[figure])))} / ${unitOf[period]}`

/** What happened in a queue over time, as the store has counted it. */
export function QueueActivity({ type, rates }: { readonly type: string; readonly rates: QueueRates }): JSX.Element {
  const [choice, setChoice] = useState<Choice>('last hour')
  const { query, bar } = choices[choice]
  const activity = useResource<Activity>(`/queues/${segmentOf(type)}/activity?${query}`)
  useLive({
    onTransitions: (transitions) => transitions.some((each) => each.type === type) && activity.refresh(),
    onReset: activity.refresh,
  })
  useRepeated(activity.refresh)
  return (
    <Panel title="Over time" aside={<Choices of={choiceWords} chosen={choice} label="Time" choose={setChoice} />}>
      <Loaded of={activity}>{(data) => <Curves of={data} rates={rates} choice={choice} bar={bar} />}</Loaded>
    </Panel>
  )
}

function Curves({
  of,
  rates: { lastMinute },
  choice,
  bar,
}: {
  readonly of: Activity
  readonly rates: QueueRates
  readonly choice: Choice
  readonly bar: string
}): JSX.Element {
  const mean = (ms: Figure, count: number): string => duration(total(of, ms) / count)
  const [started, ended] = [total(of, 'started'), total(of, 'done') + total(of, 'failed')]
  return (
    <>
      {shown.map(({ figure, tone, what }) => (
        <div key={figure}>
          <p class="legend">
            <span>
              <i class={`dot tone-${tone}`} /> {number(total(of, figure))} {what}
            </span>
            <span class="muted">{rate(lastMinute[figure])} now</span>
            {total(of, figure) > 0 && <span class="muted">{most(of, figure)}</span>}
          </p>
          <Series of={of} figure={figure} tone={tone} label={`${what} in the ${choice}, ${bar}`} />
        </div>
      ))}
      <p class="legend muted">
        {started > 0 && <span>queued for {mean('queuedMs', started)} on average</span>}
        {ended > 0 && <span>ran {mean('runMs', ended)} on average</span>}
        <span>{bar}</span>
      </p>
    </>
  )
}
