/** The lane of a job in a waterfall: its stays in states, and where attempts have failed. */
import type { JobRecord, JobState } from '../../index.ts'

/** From `at` on, until the next stay, the job was in this state. */
interface Stay {
  readonly state: JobState
  readonly at: number
  readonly attempt: number
}

/** A failed attempt. */
interface LaneError {
  readonly at: number
  readonly attempt: number
  readonly text: string
}

/** A job in a waterfall. Times are ms since the epoch, by the store's clock. */
export interface Lane {
  readonly id: string
  readonly type: string
  readonly state: JobState
  /** The id of the job that has invoked it. */
  readonly parent: string | null
  /** Only jobs with a machine can have children. */
  readonly isMachine: boolean
  /** Oldest first. */
  readonly stays: readonly Stay[]
  /** Are transitions before the first stay not kept any more? */
  readonly isCut: boolean
  readonly errors: readonly LaneError[]
}

/** What a machine was in from `at` on, until the next one. */
export interface MachineStay {
  readonly at: number
  /** Its innermost states, joined by ` · `. */
  readonly states: string
  /** Of its checkpoint. */
  readonly seq: number
}

export const laneFields = [
  'id',
  'type',
  'state',
  'parent',
  'version',
  'enqueuedAt',
  'attempt',
  'errors',
  'history',
] as const satisfies readonly (keyof JobRecord)[]

const textMax = 160

/** @param errors those of the record that may be shown */
export function laneOf(
  { id, type, state, parent, version, enqueuedAt, attempt, history }: Pick<JobRecord, (typeof laneFields)[number]>,
  errors: JobRecord['errors'],
): Lane {
  const stays = history.map(({ to, at, attempt: of }): Stay => ({ state: to, at, attempt: of }))
  return {
    id,
    type,
    state,
    parent: parent?.id ?? null,
    isMachine: version !== null,
    stays: stays.length > 0 ? stays : [{ state, at: enqueuedAt, attempt }],
    isCut: history[0]?.from !== null,
    errors: errors.map(({ failedAt, attempt: of, error: { name, message } }) => ({
      at: failedAt,
      attempt: of,
      text: `${name}: ${message}`.slice(0, textMax),
    })),
  }
}

/** When a lane begins. */
export const beginOf = ({ stays }: Lane): number => stays[0]?.at ?? 0

/** When it ends; null while its job goes on. */
export function endOf({ state, stays }: Lane): number | null {
  return state === 'done' || state === 'dead' || state === 'cancelled' ? (stays.at(-1)?.at ?? null) : null
}

/** A transition of a job, as the live stream tells it. */
interface LaneChange {
  readonly at: number
  readonly event: string
  readonly to: JobState
  readonly attempt: number
}

/** The lane after a transition; the same one if it has this transition already. */
export function laneAfter(lane: Lane, { at, event, to, attempt }: LaneChange): Lane {
  const last = lane.stays.at(-1)
  const isKnown = last !== undefined && (at < last.at || (at === last.at && to === last.state))
  if (isKnown || event === 'CHECKPOINT') return lane
  const hasFailed = event === 'FAIL' || event === 'EXPIRE'
  return {
    ...lane,
    state: to,
    stays: [...lane.stays, { state: to, at, attempt }],
    ...(hasFailed && { errors: [...lane.errors, { at, attempt, text: `attempt ${attempt} failed` }] }),
  }
}
