/** A queue: its chart with live counts, its limits, its activity and why its attempts fail. */
import type { JSX } from 'preact'
import { ownValue } from '../../core/own-value.ts'
import type { QueueView } from '../overview.ts'
import { segmentOf } from '../path-segment.ts'
import { about } from './about.ts'
import { QueueActivity } from './activity.tsx'
import { post, useRepeated, useResource, type Resource } from './api.ts'
import { Chart } from './chart.tsx'
import { ask, change } from './dialog.tsx'
import { Failures } from './failures.tsx'
import { MachineChart } from './heat.tsx'
import { counts, useLive } from './live.ts'
import { Figures, Loaded, Panel } from './parts.tsx'
import { go, link } from './router.ts'
import { duration, now, percent } from './words.ts'

export function QueueScreen({ type }: { readonly type: string }): JSX.Element {
  const queue = useResource<QueueView>(`/queues/${segmentOf(type)}`)
  useLive({
    onTransitions: (transitions) => transitions.some((each) => each.type === type) && queue.refresh(),
    onReset: queue.refresh,
  })
  useRepeated(queue.refresh)
  return <Loaded of={queue}>{(data) => <Queue of={data} refresh={queue.refresh} />}</Loaded>
}

function Queue({
  of,
  refresh,
}: {
  readonly of: QueueView
  readonly refresh: Resource<QueueView>['refresh']
}): JSX.Element {
  const { type, paused, rates, failures, isMachine } = of
  const live = ownValue(counts.value?.types, type) ?? of.counts
  const toJobs = (state: string): void => go(link('jobs', '', { type, state }))
  return (
    <>
      <div class="heading">
        <h1>
          {type} {paused && <span class="state tone-cancelled">paused</span>}
        </h1>
        <div class="actions">
          <a class="button" href={link('jobs', '', { type })}>
            Jobs
          </a>
          {about.value.role === 'admin' && <Pause type={type} paused={paused} refresh={refresh} />}
        </div>
      </div>
      <Figures of={live} type={type} />
      <Panel title="Jobs in each state" aside={<span class="muted">a state leads to its jobs</span>}>
        <Chart path={`/charts/job.svg?type=${encodeURIComponent(type)}`} counts={live} pulse={type} onState={toJobs} />
      </Panel>
      <div class="columns">
        <Facts of={of} />
        <QueueActivity type={type} rates={rates} />
      </div>
      {isMachine && <MachineChart type={type} />}
      <Panel title="Why attempts fail" aside={<span class="muted">by message, what varies in it left out</span>}>
        <Failures groups={failures} changed={refresh} showType={false} />
      </Panel>
    </>
  )
}

function Pause({
  type,
  paused,
  refresh,
}: {
  readonly type: string
  readonly paused: boolean
  readonly refresh: () => void
}): JSX.Element {
  const set = async (verb: 'pause' | 'resume'): Promise<string> => {
    await post(`/queues/${segmentOf(type)}/${verb}`)
    refresh()
    return `${type} is ${verb === 'pause' ? 'paused' : 'resumed'}.`
  }
  if (paused) {
    return (
      <button class="primary" type="button" onClick={() => void change(() => set('resume'))}>
        Resume
      </button>
    )
  }
  const text = 'No process starts its jobs until it is resumed; what runs goes on, and new jobs are taken.'
  return (
    <button
      type="button"
      onClick={() => ask({ title: `Pause ${type}?`, text, verb: 'Pause', run: () => set('pause') })}
    >
      Pause
    </button>
  )
}

function Facts({
  of: { settings, counts: now0, weight, share, expectedShare, oldestAt, workers },
}: {
  readonly of: QueueView
}): JSX.Element {
  const { concurrency = null, perKey = null, rate = null } = settings?.limits ?? {}
  const rows: readonly (readonly [string, string])[] = [
    ['Workers', workers === 0 ? 'none' : String(workers)],
    ['Oldest queued', oldestAt === null ? 'nothing is queued' : duration(Math.max(0, now.value - oldestAt))],
    [
      'Weight',
      weight === null
        ? 'unknown here'
        : `${weight}${expectedShare === null ? '' : `, ${percent(expectedShare)} of the picks`}`,
    ],
    ...(share === null ? [] : [['Given', `${percent(share)} of the picks of this process`] as const]),
    ...(settings === null
      ? []
      : ([
          ['Running at once', concurrency === null ? 'no limit' : `${now0.running} of ${concurrency}`],
          ['Per key', perKey === null ? 'no limit' : String(perKey)],
          ['Rate', rate === null ? 'no limit' : `${rate.limit} in ${duration(rate.perMs)}`],
          ['Attempts', String(settings.maxAttempts)],
          ['Attempt timeout', settings.attemptTimeoutMs === null ? 'none' : duration(settings.attemptTimeoutMs)],
        ] as const)),
  ]
  return (
    <Panel title="Limits">
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
