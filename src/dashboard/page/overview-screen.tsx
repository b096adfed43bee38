/** Overview: is all well? */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ownValue } from '../../core/own-value.ts'
import type { Overview, OverviewQueue, QueueRow } from '../overview.ts'
import type { TroubleKind } from '../trouble.ts'
import { most, Series, total } from './activity.tsx'
import { useRepeated, useResource } from './api.ts'
import { counts, storeProblem, useLive } from './live.ts'
import { NotifyButton } from './notify.tsx'
import { Empty, Figures, Loaded, Panel, QueueLink, Time } from './parts.tsx'
import { jobLink, link } from './router.ts'
import { ScopeFigures } from './scope.tsx'
import { brief, duration, now, number, percent, rate } from './words.ts'

export function OverviewScreen(): JSX.Element {
  const overview = useResource<Overview>('/overview')
  useLive({ onTransitions: overview.refresh, onReset: overview.refresh })
  useRepeated(overview.refresh)
  return (
    <Loaded of={overview}>
      {(data) => (
        <>
          <div class="heading">
            <h1>Overview</h1>
            <NotifyButton />
          </div>
          <ScopeFigures />
          <Troubles of={data} />
          <Figures of={counts.value ?? data.counts} />
          <Throughput of={data} />
          <Queues of={data} />
          <Machines of={data} />
          <AtWork of={data} />
        </>
      )}
    </Loaded>
  )
}

const troubleLinks: Readonly<Record<TroubleKind, (name: string) => string>> = {
  'no-worker': (type) => link('queue', type),
  dying: (type) => link('dead', '', { type }),
  failing: (type) => link('dead', '', { type }),
  slow: (type) => link('queue', type),
  paused: (type) => link('queue', type),
  'late-tick': () => link('schedules'),
  'missed-tick': () => link('schedules'),
  'lost-worker': () => link('workers'),
  unsupported: (type) => link('jobs', '', { type, unsupported: 'true' }),
}

const troubleTones: Readonly<Record<TroubleKind, string>> = {
  'no-worker': 'dead',
  dying: 'dead',
  failing: 'retrying',
  slow: 'retrying',
  paused: 'cancelled',
  'late-tick': 'dead',
  'missed-tick': 'retrying',
  'lost-worker': 'dead',
  unsupported: 'retrying',
}

/** So much of each kind is shown until one asks for all: what fails everywhere must not hide the rest of the screen. */
const foldedMax = 5

/** What is not as usual; on a quiet day one line. */
function Troubles({
  of: { trouble, troubleLeftOut, runtime, activity },
}: {
  readonly of: Overview
}): JSX.Element | null {
  const [isWhole, setWhole] = useState(false)
  const stopped = runtime !== null && runtime.state !== 'running' ? runtime.state : null
  if (trouble.length === 0 && stopped === null) {
    // Nothing is known of now: the warning above says so.
    if (storeProblem.value !== null) return null
    return (
      <p class="calm">
        <i class="dot tone-done" /> All is as usual: {counted(total(activity, 'done'), 'job')} done in the last hour,{' '}
        {counted(total(activity, 'dead'), 'death')}.
      </p>
    )
  }
  // Those of a kind come together.
  const shown = isWhole ? trouble : trouble.filter(({ kind }, i) => trouble[i - foldedMax]?.kind !== kind)
  return (
    <section class="panel trouble" aria-label="What is not as usual">
      <ul class="lines">
        {stopped !== null && (
          <li>
            <i class="dot tone-retrying" /> The runtime of this process is {stopped}.
          </li>
        )}
        {shown.map(({ key, kind, name, text }) => (
          <li key={key} data-row tabindex={-1} data-href={troubleLinks[kind](name)}>
            <i class={`dot tone-${troubleTones[kind]}`} />
            <a href={troubleLinks[kind](name)}>{text}</a>
          </li>
        ))}
        {shown.length < trouble.length && (
          <li>
            <button type="button" class="quiet" onClick={() => setWhole(true)}>
              Show {number(trouble.length - shown.length)} more
            </button>
          </li>
        )}
        {troubleLeftOut > 0 && <li class="muted">{number(troubleLeftOut)} more are not shown.</li>}
      </ul>
    </section>
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
  // A client picks no jobs.
  const isShared = queues.some(({ share }) => share !== null)
  return (
    <Panel
      title="Queues"
      aside={
        queuesLeftOut > 0 && <span class="muted">{number(queuesLeftOut)} more, with fewer jobs, are not shown</span>
      }
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
                <th class="wide">Last hour</th>
                <th class="num wide" title="from the enqueue to the start: of half, 95 % and 99 % of the last 200 jobs">
                  Waited p50 · 95 · 99
                </th>
                <th class="num wide" title="from the start to the end: of half, 95 % and 99 % of the last 200 jobs">
                  Ran p50 · 95 · 99
                </th>
                <th class="num" title="how long the first queued job waits">
                  Oldest
                </th>
                {isShared && <th class="widest">Share of picks</th>}
                <th class="num wide">Workers</th>
              </tr>
            </thead>
            <tbody>
              {queues.map((queue) => (
                <Queue key={queue.type} of={queue} isShared={isShared} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  )
}

/** Machines: where those stand that have not ended, and how the others have ended. */
function Machines({ of: { queues } }: { readonly of: Overview }): JSX.Element | null {
  const shown = queues.filter(({ states, outcomes }) => Object.keys({ ...states, ...outcomes }).length > 0)
  if (shown.length === 0) return null
  return (
    <Panel title="Machines" aside={<span class="muted">where they stand, and how they have ended</span>}>
      <ul class="machines">
        {shown.map(({ type, states, outcomes }) => (
          <li key={type}>
            <QueueLink type={type} />
            <p class="where">
              {Object.entries(states).map(([state, jobs]) => (
                <a key={state} class="in" href={link('jobs', '', { type, machineState: state })}>
                  {state} <b>{number(jobs)}</b>
                </a>
              ))}
            </p>
            <p class="where muted" title="final states of machines that are done, with the status of their output">
              {outcomesText(outcomes)}
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** Of the ends of machines, the most frequent first. */
const outcomesMax = 5

function outcomesText(of: QueueRow['outcomes']): string {
  const ends = Object.entries(of).toSorted(([, a], [, b]) => b - a)
  const text = ends.slice(0, outcomesMax).map(([end, count]) => `${number(count)} ${end}`)
  const more = ends.length > outcomesMax ? [counted(ends.length - outcomesMax, 'other end')] : []
  return [...text, ...more].join(' · ')
}

/** The states of a queue that a phone has room for. */
const narrow = new Set(['queued', 'dead'])

function Queue({ of, isShared }: { readonly of: OverviewQueue; readonly isShared: boolean }): JSX.Element {
  const { type, paused, oldestAt, share, expectedShare, workers, done, failed, wait, run } = of
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
      </td>
      {cell('queued')}
      {cell('running')}
      {cell('retrying')}
      {cell('dead')}
      <td class="wide">
        <Sparkline done={done} failed={failed} rate={of.rates.lastFiveMinutes.done} />
      </td>
      <Durations of={wait} />
      <Durations of={run} />
      <td class="num muted">{oldestAt === null ? '–' : duration(Math.max(0, now.value - oldestAt))}</td>
      {isShared && (
        <td class="widest">
          {share === null || expectedShare === null ? (
            <span class="muted">–</span>
          ) : (
            <Share share={share} expected={expectedShare} />
          )}
        </td>
      )}
      <td class={`num wide ${workers === 0 ? 'muted' : ''}`}>{workers}</td>
    </tr>
  )
}

const Durations = ({ of }: { readonly of: OverviewQueue['wait'] }): JSX.Element => (
  <td class="num wide durations">
    {of === null ? <span class="muted">–</span> : [of.p50, of.p95, of.p99].map((ms) => brief(ms)).join(' · ')}
  </td>
)

/** An hour of a queue: jobs done in each minute, and above them the attempts that failed. */
function Sparkline({
  done,
  failed,
  rate: perSecond,
}: {
  readonly done: readonly number[]
  readonly failed: readonly number[]
  readonly rate: number
}): JSX.Element {
  const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0)
  const most = Math.max(1, ...done.map((value, i) => value + (failed[i] ?? 0)))
  const text = `${counted(sum(done), 'job')} done and ${counted(sum(failed), 'failed attempt')} in the last hour, ${rate(perSecond)} done now`
  const bars = (values: readonly number[], below: readonly number[]): string =>
    values
      .map((value, i) => {
        if (value === 0) return ''
        const height = Math.max(1.5, (value / most) * 20)
        const base = 20 - ((below[i] ?? 0) / most) * 20
        return `M${i * 2} ${base.toFixed(1)}v-${height.toFixed(1)}h1.5v${height.toFixed(1)}z`
      })
      .join('')
  return (
    <svg class="sparkline" viewBox="0 0 120 22" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <path class="base" d="M0 20.5H120" />
      <path class="done" d={bars(done, [])} />
      <path class="failed" d={bars(failed, done)} />
    </svg>
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

function AtWork({
  of: {
    workers: { alive, lost },
    running,
  },
}: {
  readonly of: Overview
}): JSX.Element {
  return (
    <Panel
      title="Running now"
      aside={
        <a href={link('workers')}>
          {counted(alive, 'worker')}
          {lost > 0 && `, ${lost} lost`}
        </a>
      }
    >
      {running.length === 0 ? (
        <Empty title="Nothing runs">Workers pick jobs as soon as they are queued.</Empty>
      ) : (
        <ul class="lines">
          {running.map(({ id, type, attempt, since, worker }) => (
            <li key={id} data-row tabindex={-1} data-href={jobLink(id)}>
              <a class="id" href={jobLink(id)}>
                {id}
              </a>
              <span>{type}</span>
              <span class="muted">
                attempt {attempt}, {worker}, started <Time at={Math.min(since, now.value)} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
