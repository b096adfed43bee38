/** The past of a machine: a slider through the checkpoints that are kept, and a fork from the one that is shown. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobView } from '../job-view.ts'
import type { CheckpointShown, PastView } from '../machine-shown.ts'
import { about } from './about.ts'
import { post, useResource } from './api.ts'
import { ask, say } from './dialog.tsx'
import { Panel, Time } from './parts.tsx'
import { go, jobLink } from './router.ts'

/** A slider that is pulled passes many checkpoints: only the one where it rests is loaded. */
const restMs = 120

export interface Travel {
  /** The checkpoint that is shown; null for the present. */
  readonly chosen: CheckpointShown | null
  /** Where the machine stood there, as soon as it is loaded; until then what was shown before. */
  readonly past: PastView | null
  /** @param seq of a checkpoint; null for the present */
  readonly to: (seq: number | null) => void
}

export function useTravel({ job, checkpoints }: JobView): Travel {
  const [seq, setSeq] = useState<number | null>(null)
  const [rested, setRested] = useState<number | null>(null)
  const chosen = checkpoints.find((each) => each.seq === seq) ?? null
  useEffect(() => {
    const timer = setTimeout(() => setRested(seq), restMs)
    return () => clearTimeout(timer)
  }, [seq])
  const { data, error } = useResource<PastView>(
    rested === null ? null : `/jobs/${encodeURIComponent(job.id)}/checkpoints/${rested}`,
  )
  const last = useRef<PastView | null>(null)
  if (data !== null) last.current = data
  useEffect(() => {
    if (error !== null) say(error.message, true)
  }, [error])
  return { chosen, past: chosen === null ? null : last.current, to: setSeq }
}

interface TimeTravelProps {
  readonly of: JobView
  readonly travel: Travel
}

export function TimeTravel({ of: { job, checkpoints, may }, travel: { chosen, to } }: TimeTravelProps): JSX.Element {
  const last = checkpoints.length - 1
  if (last < 1) return <></>
  const at = chosen === null ? last : checkpoints.indexOf(chosen)
  const shown = checkpoints[at]
  const pull = (value: number): void => to(checkpoints[value]?.seq ?? null)
  return (
    <div class="travel">
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="Checkpoint"
        aria-valuetext={`${at + 1} of ${last + 1}: ${shown?.note ?? ''}`}
        onInput={(event) => pull(event.currentTarget.valueAsNumber)}
      />
      <p>
        <b class="count">
          {at + 1} of {last + 1}
        </b>
        <span>{shown?.note}</span> <span class="muted">{shown !== undefined && <Time at={shown.at} />}</span>
      </p>
      <div class="actions">
        {chosen !== null && (
          <button type="button" class="quiet" onClick={() => to(null)}>
            Back to now
          </button>
        )}
        {may.fork && shown !== undefined && about.value.role === 'admin' && (
          <button type="button" onClick={() => askFork(job.id, shown)}>
            Fork from here
          </button>
        )}
      </div>
    </div>
  )
}

function askFork(id: string, { number: place, seq, note }: CheckpointShown): void {
  ask({
    title: `Fork from checkpoint ${place}?`,
    text: `A new job goes on from ${note === '' ? 'there' : `“${note}”`}, with effects and children of its own. This one is not touched.`,
    verb: 'Fork',
    reason: 'Id of the new job (may be left empty)',
    run: async (own) => {
      const path = `/jobs/${encodeURIComponent(id)}/fork`
      const { job } = await post<{ readonly job: string }>(path, { seq, ...(own !== '' && { id: own }) })
      go(jobLink(job))
      return `This is the fork of ${id}.`
    },
  })
}

export const Checkpoints = ({ of: { checkpoints }, travel: { chosen, to } }: TimeTravelProps): JSX.Element => (
  <Panel title="Checkpoints" aside={<span class="muted">the latest first; click one to see it in the chart</span>}>
    <ul class="lines">
      {checkpoints.toReversed().map(({ number: place, seq, at, note, value }) => (
        <li key={place} class={seq === chosen?.seq ? 'chosen' : ''}>
          <b class="count">{place}</b>
          <button type="button" class="plain" aria-pressed={seq === chosen?.seq} onClick={() => to(seq)}>
            {note === '' ? `Checkpoint ${place}` : note}
          </button>
          <span class="muted">
            {value !== null && <code>{JSON.stringify(value)}</code>} <Time at={at} />
          </span>
        </li>
      ))}
    </ul>
  </Panel>
)
