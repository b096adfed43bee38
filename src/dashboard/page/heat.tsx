/** The statechart of a type: with its live jobs, or as a heat map of what has happened in it over time. */
import type { JSX } from 'preact'
import type { HeatPeriod } from '../../index.ts'
import type { HeatShown, StateShown, TransitionShown } from '../heat.ts'
import { segmentOf } from '../path-segment.ts'
import { useRepeated, useResource } from './api.ts'
import { Chart } from './chart.tsx'
import { Choices, Loaded, Panel } from './parts.tsx'
import { go, jobLink, link, place, replace } from './router.ts'
import { brief, date, number, percent } from './words.ts'

type Choice = 'now' | HeatPeriod

const choices: Readonly<Record<Choice, string>> = { now: 'now', hour: 'an hour', day: 'a day', week: 'a week' }

const isChoice = (text: string | null): text is Choice => text !== null && Object.hasOwn(choices, text)

/** What it shows is in the address. */
export function MachineChart({ type }: { readonly type: string }): JSX.Element {
  const { query } = place.value
  const asked = query.get('heat')
  const choice = isChoice(asked) ? asked : 'now'
  const version = query.get('version') ?? ''
  const show = (heat: Choice, of: string): void =>
    replace(link('queue', type, { heat: heat === 'now' ? null : heat, version: of === '' ? null : of }))
  return (
    <Panel
      title="Its statechart"
      aside={
        <Choices of={choices} chosen={choice} label="What the chart shows" choose={(next) => show(next, version)} />
      }
    >
      {choice === 'now' ? (
        <Chart path={`/charts/machine.svg?${new URLSearchParams({ type })}`} onState={toState(type)} />
      ) : (
        <HeatMap
          key={`${choice} ${version}`}
          type={type}
          period={choice}
          version={version}
          onVersion={(next) => show(choice, next)}
        />
      )}
    </Panel>
  )
}

const toState =
  (type: string) =>
  (machineState: string): void =>
    go(link('jobs', '', { type, machineState }))

interface HeatMapProps {
  readonly type: string
  readonly period: HeatPeriod
  /** Empty: all. */
  readonly version: string
  readonly onVersion: (version: string) => void
}

function HeatMap({ type, period, version, onVersion }: HeatMapProps): JSX.Element {
  const query = new URLSearchParams({ period, ...(version !== '' && { version }) })
  const heat = useResource<HeatShown>(`/queues/${segmentOf(type)}/heat?${query}`)
  useRepeated(heat.refresh)
  return (
    <Loaded of={heat}>
      {(data) => {
        const counts = [...data.transitions, ...data.states].map(({ count }) => count)
        const lastIds = new Map(data.transitions.map(({ id, lastId }) => [id, lastId]))
        return (
          <>
            <p class="legend">
              <span class="muted">
                Since {date(data.from).slice(0, 16)}: an arrow is as wide as it was taken often; a state glows where a
                job is longer than 99 of 100 were. An arrow's label leads to the job that took it last.
              </span>
              {data.versions.length > 1 && (
                <select aria-label="Version" value={version} onChange={(event) => onVersion(event.currentTarget.value)}>
                  <option value="">every version</option>
                  {data.versions.map((each) => (
                    <option key={each} value={each}>
                      version {each}
                    </option>
                  ))}
                </select>
              )}
            </p>
            <Chart
              path={`/charts/machine.svg?${new URLSearchParams({ type, heat: period, version })}`}
              revision={counts.join()}
              onState={toState(type)}
              onTransition={(id) => {
                const lastId = lastIds.get(id) ?? null
                if (lastId !== null) go(jobLink(lastId))
              }}
            />
            <div class="columns">
              <States type={type} states={data.states} />
              <Transitions transitions={data.transitions} />
            </div>
          </>
        )
      }}
    </Loaded>
  )
}

function States({ type, states }: { readonly type: string; readonly states: readonly StateShown[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>State</th>
            <th class="num">Left</th>
            <th class="num">Median</th>
            <th class="num">p95</th>
            <th class="num">p99</th>
            <th class="num">Jobs now</th>
            <th class="num">Stuck</th>
          </tr>
        </thead>
        <tbody>
          {states.map(({ state, count, p50Ms, p95Ms, p99Ms, jobs, stuck, stuckId, more }) => (
            <tr key={state}>
              <td class="wrap">
                <a href={link('jobs', '', { type, machineState: state })}>{state}</a>
              </td>
              <td class="num">{number(count)}</td>
              {[p50Ms, p95Ms, p99Ms].map((ms, i) => (
                <td key={i} class="num">
                  {count === 0 ? '–' : brief(ms)}
                </td>
              ))}
              <td class="num">{number(jobs)}</td>
              <td class="num">
                {stuckId !== null && (
                  <a
                    href={jobLink(stuckId)}
                    title={
                      more ? 'The longest of the 50 jobs that were enqueued first' : 'The job that is longest in it'
                    }
                  >
                    {number(stuck)}
                    {more && '+'}
                  </a>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Transitions({ transitions }: { readonly transitions: readonly TransitionShown[] }): JSX.Element {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Transition</th>
            <th class="num">Taken</th>
            <th class="num">Of its state</th>
            <th>Last by</th>
          </tr>
        </thead>
        <tbody>
          {transitions.map(({ id, from, label, to, count, share, lastId }) => (
            <tr key={id}>
              <td class="wrap">
                <span class="muted">{from}</span> {label}{' '}
                {to.length > 0 && <span class="muted">→ {to.join(', ')}</span>}
              </td>
              <td class="num">{number(count)}</td>
              <td class="num">{count === 0 ? '–' : percent(share)}</td>
              <td>{lastId !== null && <a href={jobLink(lastId)}>{lastId.slice(0, 12)}</a>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
