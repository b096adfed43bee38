/** Workers: who they are, what each runs since when, and which are lost. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import type { Json, WorkerRecord } from '../../index.ts'
import { useResource } from './api.ts'
import { useLive } from './live.ts'
import { Empty, Loaded, Panel, Time } from './parts.tsx'
import { jobLink } from './router.ts'
import { duration, now, number } from './words.ts'

export function WorkersScreen(): JSX.Element {
  const workers = useResource<{ readonly workers: readonly WorkerRecord[] }>('/workers')
  useLive({ onTransitions: workers.refresh, onReset: workers.refresh })
  return (
    <>
      <h1>Workers</h1>
      <Loaded of={workers}>
        {({ workers: list }) =>
          list.length === 0 ? (
            <Empty title="No worker is connected">
              Jobs stay queued until a runtime that knows their type is started.
            </Empty>
          ) : (
            <div class="stack">
              {list.map((worker) => (
                <Worker key={worker.id} of={worker} />
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  )
}

function Worker({
  of: { name, host, pid, version, slots, types, startedAt, seenAt, lost, running },
}: {
  readonly of: WorkerRecord
}): JSX.Element {
  const aside = lost ? (
    <span class="state tone-dead">
      lost, last seen <Time at={seenAt} />
    </span>
  ) : (
    <span class="muted">
      up {duration(Math.max(0, now.value - startedAt))}, seen <Time at={seenAt} />
    </span>
  )
  return (
    <Panel title={name} aside={aside}>
      <p class="muted">
        {host}, process {pid}, jobchart {version}, {number(running.length)} of {counted(slots, 'slot')} taken
      </p>
      <Slots taken={running.length} of={slots} />
      <p class="where">
        {types.map((type) => (
          <a key={type} class="tag" href={`#/queue/${encodeURIComponent(type)}`}>
            {type}
          </a>
        ))}
      </p>
      {running.length > 0 && (
        <ul class="lines">
          {running.map(({ id, type, attempt, since, input, checkin }) => (
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
      )}
    </Panel>
  )
}

/** Cut to one line; the screen of the job has it as a tree. */
function OneLine({ label, value }: { readonly label: string; readonly value: Json }): JSX.Element {
  const text = JSON.stringify(value)
  return (
    <span class="muted cut" title={text}>
      {label} <code>{text}</code>
    </span>
  )
}

const slotsShown = 60

function Slots({ taken, of }: { readonly taken: number; readonly of: number }): JSX.Element {
  const shown = Math.min(of, slotsShown)
  const filled = of === 0 ? 0 : Math.ceil((taken / of) * shown)
  return (
    <svg
      class="slots"
      viewBox={`0 0 ${slotsShown * 10} 8`}
      role="img"
      aria-label={`${taken} of ${counted(of, 'slot')} taken`}
    >
      {Array.from({ length: shown }, (_, i) => (
        <rect key={i} class={i < filled ? 'taken' : ''} x={i * 10} width="8" height="8" rx="2" />
      ))}
    </svg>
  )
}
