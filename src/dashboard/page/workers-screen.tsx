/** Workers as a table; of each what its slots ran in the last minutes, and what they run now. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json, WorkerRecord } from '../../index.ts'
import type { EndedRun } from '../worker-runs.ts'
import { useResource } from './api.ts'
import { useLive } from './live.ts'
import { Empty, Loaded, Time } from './parts.tsx'
import { jobLink, link } from './router.ts'
import { SlotChart } from './slot-chart.tsx'
import { matchesText, TableFilters, useFirstRows, useTableFilter } from './table-filter.tsx'
import { duration, now, number } from './words.ts'

interface Workers {
  readonly workers: readonly WorkerRecord[]
  readonly ended: readonly EndedRun[]
}

/** Of more workers, the slots are shown of those that are opened. */
const openMax = 6

const chips: Readonly<Record<string, (worker: WorkerRecord) => boolean>> = {
  full: ({ running, slots, lost }) => running.length >= slots && slots > 0 && !lost,
  busy: ({ running, lost }) => running.length > 0 && !lost,
  idle: ({ running, lost }) => running.length === 0 && !lost,
  lost: ({ lost }) => lost,
}

export function WorkersScreen(): JSX.Element {
  const workers = useResource<Workers>('/workers')
  useLive({ onTransitions: workers.refresh, onReset: workers.refresh })
  return (
    <>
      <h1>Workers</h1>
      <Loaded of={workers}>
        {(data) =>
          data.workers.length === 0 ? (
            <Empty title="No worker is connected">
              Jobs stay queued until a runtime that knows their type is started.
            </Empty>
          ) : (
            <List of={data} />
          )
        }
      </Loaded>
    </>
  )
}

function List({ of: { workers, ended } }: { readonly of: Workers }): JSX.Element {
  const { text, chip } = useTableFilter()
  const matching = workers
    .filter((each) => chip === null || chips[chip]?.(each) === true)
    .filter(({ name, host, types, version }) => matchesText(text, name, host, version, ...types))
  const [shown, more] = useFirstRows(matching)
  const counts = Object.entries(chips).map(([name, has]) => [name, workers.filter(has).length] as const)
  return (
    <>
      <TableFilters label="Workers" counts={counts} />
      {shown.length === 0 ? (
        <Empty title="No worker matches" />
      ) : (
        <div class="scroll panel flush">
          <table class="workers">
            <thead>
              <tr>
                <th>Worker</th>
                <th class="wide">Host</th>
                <th class="num wide">Process</th>
                <th class="wide">Version</th>
                <th>Slots</th>
                <th class="num wide">Up</th>
                <th class="num">Seen</th>
              </tr>
            </thead>
            {shown.map((worker) => (
              <Worker
                key={worker.id}
                of={worker}
                ended={ended.filter((run) => run.worker === worker.id)}
                isOpenAtFirst={shown.length <= openMax}
              />
            ))}
          </table>
        </div>
      )}
      {more}
    </>
  )
}

function Worker({
  of,
  ended,
  isOpenAtFirst,
}: {
  readonly of: WorkerRecord
  readonly ended: readonly EndedRun[]
  readonly isOpenAtFirst: boolean
}): JSX.Element {
  const { name, host, pid, version, slots, types, startedAt, seenAt, lost, running } = of
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  return (
    <tbody>
      <tr>
        <td class="wrap">
          <button
            type="button"
            class="quiet fold"
            aria-expanded={isOpen}
            aria-label={`${isOpen ? 'Close' : 'Open'} ${name}`}
            onClick={() => setOpen(!isOpen)}
          />
          <strong>{name}</strong> {lost && <span class="state tone-dead">lost</span>}
        </td>
        <td class="wide">{host}</td>
        <td class="num wide">{pid}</td>
        <td class="wide">{version}</td>
        <td class="wrap">
          <Slots taken={running.length} of={slots} />
        </td>
        <td class="num wide">{duration(Math.max(0, now.value - startedAt))}</td>
        <td class="num">
          <Time at={seenAt} />
        </td>
      </tr>
      {isOpen && (
        <tr class="more">
          <td colspan={7}>
            <SlotChart running={running} ended={ended} slots={slots} />
            <p class="where">
              {types.map((type) => (
                <a key={type} class="tag" href={link('queue', type)}>
                  {type}
                </a>
              ))}
            </p>
            <Running of={running} />
          </td>
        </tr>
      )}
    </tbody>
  )
}

const Running = ({ of }: { readonly of: WorkerRecord['running'] }): JSX.Element | null =>
  of.length === 0 ? null : (
    <ul class="lines">
      {of.map(({ id, type, attempt, since, input, checkin }) => (
        <li key={id} data-row tabindex={-1} data-href={jobLink(id)}>
          <a class="id" href={jobLink(id)}>
            {id}
          </a>
          <span>{type}</span>
          <span class="muted">
            attempt {attempt}, since {duration(Math.max(0, now.value - since))}
          </span>
          {input !== undefined && <OneLine label="input" value={input} />}
          {checkin !== null && <OneLine label="check-in" value={checkin.value} />}
        </li>
      ))}
    </ul>
  )

/** Cut to one line; the screen of the job has it as a tree. */
function OneLine({ label, value }: { readonly label: string; readonly value: Json }): JSX.Element {
  const text = JSON.stringify(value)
  return (
    <span class="muted cut" title={text}>
      {label} <code>{text}</code>
    </span>
  )
}

const slotsShown = 30

function Slots({ taken, of }: { readonly taken: number; readonly of: number }): JSX.Element {
  const shown = Math.min(of, slotsShown)
  const filled = of === 0 ? 0 : Math.ceil((taken / of) * shown)
  return (
    <>
      <svg class="slots" viewBox={`0 0 ${Math.max(1, shown) * 10} 8`} aria-hidden="true">
        {Array.from({ length: shown }, (_, i) => (
          <rect key={i} class={i < filled ? 'taken' : ''} x={i * 10} width="8" height="8" rx="2" />
        ))}
      </svg>
      <div class="muted">
        {number(taken)} of {counted(of, 'slot')}
      </div>
    </>
  )
}
