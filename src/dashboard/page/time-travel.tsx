/**
 * The past of a machine: a slider through the checkpoints that are kept, which also plays them, and a fork from the one
 * that is shown.
 */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobView } from '../job-view.ts'
import type { CheckpointShown, PastView } from '../machine-shown.ts'
import { about } from './about.ts'
import { get, jobPath, post } from './api.ts'
import { ask, say } from './dialog.tsx'
import { Panel, Time } from './parts.tsx'
import { go, jobLink } from './router.ts'
import { date } from './words.ts'

/** A slider that is pulled passes many checkpoints: only the one where it rests is loaded. */
const restMs = 120
/** Checkpoints that the page keeps: those that a job keeps. */
const viewsMax = 60

export interface Travel {
  /** The checkpoint that is shown; null for the present. */
  readonly chosen: CheckpointShown | null
  /** Where the machine stood there, as soon as it is loaded; until then what was shown before. */
  readonly past: PastView | null
  /** @param seq of a checkpoint; null for the present */
  readonly to: (seq: number | null) => void
  /** Does so, and shows the chart and the slider. */
  readonly show: (seq: number) => void
  /** How often `show` was called. */
  readonly shows: number
}

export function useTravel({ job, checkpoints }: JobView): Travel {
  const [seq, setSeq] = useState<number | null>(null)
  const [shows, setShows] = useState(0)
  const chosen = checkpoints.find((each) => each.seq === seq) ?? null
  const view = usePast(job.id, chosen?.seq ?? null)
  const last = useRef<PastView | null>(null)
  if (view !== null) last.current = view
  const show = (of: number): void => {
    setSeq(of)
    setShows((before) => before + 1)
  }
  return { chosen, past: chosen === null ? null : last.current, to: setSeq, show, shows }
}

const views = new Map<string, PastView>()

/** Where a machine stood at a checkpoint, once the choice rests; what was loaded is kept. */
export function usePast(id: string, seq: number | null): PastView | null {
  const [, setLoaded] = useState(0)
  const key = `${id} ${seq}`
  const known = seq === null ? null : (views.get(key) ?? null)
  useEffect(() => {
    if (seq === null || known !== null) return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      get<PastView>(`${jobPath(id)}/checkpoints/${seq}`, leaving.signal).then(
        (view) => {
          const [oldest] = views.keys()
          if (views.size >= viewsMax && oldest !== undefined) views.delete(oldest)
          views.set(key, view)
          setLoaded((count) => count + 1)
        },
        (error: unknown) => leaving.signal.aborted || say(error instanceof Error ? error.message : String(error), true),
      )
    }, restMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [key, known === null])
  return known
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
        <Player at={at} last={last} pull={pull} />
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

/** How long a checkpoint is shown at normal speed. */
const stepMs = 1_200
const speeds = [1, 2, 4] as const

interface PlayerProps {
  readonly at: number
  readonly last: number
  readonly pull: (value: number) => void
}

/** Plays the checkpoints one after the other, from the one that is shown; from the last one, all of them. */
function Player({ at, last, pull }: PlayerProps): JSX.Element {
  const [plays, setPlays] = useState(false)
  const [speed, setSpeed] = useState<(typeof speeds)[number]>(1)
  useEffect(() => {
    if (!plays) return
    if (at >= last) return setPlays(false)
    const timer = setTimeout(() => pull(at + 1), stepMs / speed)
    return () => clearTimeout(timer)
  }, [plays, at, last, speed])
  const play = (): void => {
    if (!plays && at >= last) pull(0)
    setPlays(!plays)
  }
  const faster = speeds[(speeds.indexOf(speed) + 1) % speeds.length] ?? 1
  return (
    <>
      <button type="button" aria-pressed={plays} onClick={play}>
        {plays ? 'Pause' : 'Play'}
      </button>
      <button type="button" class="quiet" aria-label={`Speed ${speed} times`} onClick={() => setSpeed(faster)}>
        {speed} ×
      </button>
    </>
  )
}

function askFork(id: string, { number: place, seq, note }: CheckpointShown): void {
  ask({
    title: `Fork from checkpoint ${place}?`,
    text: `A new job goes on from ${note === '' ? 'there' : `“${note}”`}, with effects and children of its own. This one is not touched.`,
    verb: 'Fork',
    reason: 'Id of the new job (may be left empty)',
    run: async (own) => {
      const path = `${jobPath(id)}/fork`
      const { job } = await post<{ readonly job: string }>(path, { seq, ...(own !== '' && { id: own }) })
      go(jobLink(job))
      return `This is the fork of ${id}.`
    },
  })
}

export const Checkpoints = ({ of: { checkpoints }, travel: { chosen, show } }: TimeTravelProps): JSX.Element => (
  <Panel title="Checkpoints" aside={<span class="muted">the latest first; click one to see it in the chart</span>}>
    <ul class="lines">
      {checkpoints.toReversed().map(({ number: place, seq, at, note, value }) => (
        <li key={place} class={seq === chosen?.seq ? 'chosen' : ''}>
          <b class="count">{place}</b>
          <button type="button" class="plain" aria-pressed={seq === chosen?.seq} onClick={() => show(seq)}>
            {note === '' ? `Checkpoint ${place}` : note}
          </button>
          <span class="muted" title={date(at)}>
            {value !== null && <code>{JSON.stringify(value)}</code>} <Time at={at} />
          </span>
        </li>
      ))}
    </ul>
  </Panel>
)
