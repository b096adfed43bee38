/** Overview: is all well? */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import { ownValue } from '../../core/own-value.ts'
import type { Overview, QueueRow } from '../overview.ts'
import { most, Series, total } from './activity.tsx'
import { useRepeated, useResource } from './api.ts'
import { counts, useLive } from './live.ts'
import { Empty, Figures, Loaded, Panel, QueueLink, Time } from './parts.tsx'
import { jobLink, link } from './router.ts'
import { duration, now, number, percent, rate } from './words.ts'

export function OverviewScreen(): JSX.Element {
  const overview = useResource<Overview>('/overview')
  useLive({ onTransitions: overview.refresh, onReset: overview.refresh })
  useRepeated(overview.refresh)
  return (
    <Loaded of={overview}>
      {(data) => (
        <>
          <h1>Overview</h1>
          <Warnings of={data} />
          <Figures of={counts.value ?? data.counts} />
          <Throughput of={data} />
          <Queues of={data} />
          <AtWork of={data} />
        </>
      )}
    </Loaded>
  )
}

function Warnings({ of: { queues, runtime } }: { readonly of: Overview }): JSX.Element {
  const alone = queues.filter(({ counts: { queued }, workers, paused }) => queued > 0 && workers === 0 && !paused)
  return (
    <>
      {alone.map(({ type, counts: { queued } }) => (
        <p class="warning" role="alert" key={type}>
          <QueueLink type={type} /> has {counted(queued, 'queued job')} and no worker that runs it.
        </p>
      ))}
      {runtime !== null && runtime.state !== 'running' && (
        <p class="warning" role="alert">
          The runtime of this process is {runtime.state}.
        </p>
      )}
    </>
  )
}

function Throughput({ of: { activity, rates, deadLastDay } }: { readonly of: Overview }): JSX.Element {
  const [done, failed] = [total(activity, 'done'), total(activity, 'failed')]
  return (
    <div class="columns">
      <Panel title="Done" aside={<span class="muted">last hour</span>}>
        <p class="large">
          {number(done)}{' '}
          <small class="muted">
            {rate(rates.lastMinute.done)} now{done > 0 && `, ${most(activity, 'done')}`}
          </small>
        </p>
        <Series
          of={activity}
          figure="done"
          tone="done"
          label={`Jobs done in each minute of the last hour, ${done} in all`}
        />
      </Panel>
      <Panel title="Failed attempts" aside={<a href={link('dead')}>{number(deadLastDay)} died in the last day</a>}>
        <p class="large">
          {number(failed)}{' '}
          <small class="muted">
            {done + failed === 0
              ? 'nothing ran'
              : `${percent(failed / (done + failed))} of attempts${failed > 0 ? `, ${most(activity, 'failed')}` : ''}`}
          </small>
        </p>
        <Series
          of={activity}
          figure="failed"
          tone="dead"
          label={`Failed attempts in each minute of the last hour, ${failed} in all`}
        />
      </Panel>
    </div>
  )
}

function Queues({ of: { queues, queuesLeftOut } }: { readonly of: Overview }): JSX.Element {
  return (
    <Panel
      title="Queues"
      aside={queuesLeftOut > 0 && <span class="muted">{number(queuesLeftOut)} more are not shown</span>}
    >
      {queues.length === 0 ? (
        <Empty title="No queues yet">A queue is there as soon as a job type is defined or a job is stored.</Empty>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Queue</th>
                <th class="num">Queued</th>
                <th class="num wide">Running</th>
                <th class="num wide">Retrying</th>
                <th class="num">Dead</th>
                <th class="num wide">Rate</th>
                <th>Oldest queued</th>
                <th class="wide">Share of picks</th>
                <th class="num wide">Workers</th>
              </tr>
            </thead>
            <tbody>
              {queues.map((queue) => (
                <Queue key={queue.type} of={queue} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}

/** How machines of a type have ended, the most frequent end first. */
const outcomesMax = 5

function Outcomes({ of }: { readonly of: QueueRow['outcomes'] }): JSX.Element | null {
  const ends = Object.entries(of).toSorted(([, a], [, b]) => b - a)
  if (ends.length === 0) return null
  const text = ends.slice(0, outcomesMax).map(([end, count]) => `${number(count)} ${end}`)
  const more = ends.length > outcomesMax ? [counted(ends.length - outcomesMax, 'other end')] : []
  return (
    <div class="muted" title="final states of the machines that are done, with the status of their output">
      {[...text, ...more].join(' · ')}
    </div>
  )
}

/** The states of a queue that a phone has room for. */
const narrow = new Set(['queued', 'dead'])

function Queue({ of }: { readonly of: QueueRow }): JSX.Element {
  const { type, paused, oldestAt, rates, share, expectedShare, workers } = of
  const live = ownValue(counts.value?.types, type) ?? of.counts
  const cell = (state: 'queued' | 'running' | 'retrying' | 'dead'): JSX.Element => (
    <td class={`num ${live[state] === 0 ? 'muted' : ''} ${narrow.has(state) ? '' : 'wide'}`}>
      <a href={link('jobs', '', { type, state })}>{number(live[state])}</a>
    </td>
  )
  return (
    <tr data-row tabindex={-1} data-href={link('queue', type)}>
      <td>
        <QueueLink type={type} /> {paused && <span class="state tone-cancelled">paused</span>}
        {of.isMachine && <Outcomes of={of.outcomes} />}
      </td>
      {cell('queued')}
      {cell('running')}
      {cell('retrying')}
      {cell('dead')}
      <td
        class={`num wide ${rates.lastFiveMinutes.done === 0 ? 'muted' : ''}`}
        title="jobs done, in the last five minutes"
      >
        {rate(rates.lastFiveMinutes.done)}
      </td>
      <td class="muted">{oldestAt === null ? '–' : duration(Math.max(0, now.value - oldestAt))}</td>
      <td class="wide">
        {share === null || expectedShare === null ? (
          <span class="muted">–</span>
        ) : (
          <Share share={share} expected={expectedShare} />
        )}
      </td>
      <td class={`num wide ${workers === 0 ? 'muted' : ''}`}>{workers}</td>
    </tr>
  )
}

/** The part a queue was given, and a mark where its weight would have it. */
const Share = ({ share, expected }: { readonly share: number; readonly expected: number }): JSX.Element => (
  <span
    class="share"
    title={`given ${percent(share)} of the picks; its weight asks for ${percent(expected)} when all queues have work`}
  >
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="ground" width="100" height="8" rx="2" />
      <rect class="given" width={share * 100} height="8" rx="2" />
      <rect class="mark" x={Math.min(99, expected * 100)} width="1" height="8" />
    </svg>
    {percent(share)}
  </span>
)

function AtWork({ of: { workers } }: { readonly of: Overview }): JSX.Element {
  const runs = workers
    .flatMap(({ name, running }) => running.map((run) => ({ ...run, name })))
    .toSorted((a, b) => a.since - b.since)
  const alive = workers.filter(({ lost }) => !lost).length
  return (
    <Panel
      title="Running now"
      aside={
        <a href={link('workers')}>
          {counted(alive, 'worker')}
          {alive < workers.length && `, ${workers.length - alive} lost`}
        </a>
      }
    >
      {runs.length === 0 ? (
        <Empty title="Nothing runs">Workers pick jobs as soon as they are queued.</Empty>
      ) : (
        <ul class="lines">
          {runs.slice(0, 12).map(({ id, type, attempt, since, name }) => (
            <li key={id} data-row tabindex={-1} data-href={jobLink(id)}>
              <a class="id" href={jobLink(id)}>
                {id}
              </a>
              <span>{type}</span>
              <span class="muted">
                attempt {attempt}, {name}, started <Time at={Math.min(since, now.value)} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
