/**
 * The chart of a job, compiled at load: every transition that XState reports for `job.machine.ts` becomes an entry of a
 * table. A look-up takes about 10 ns; an XState step takes about 10 µs.
 *
 * The properties of the chart that the table relies on are asserted; a property test compares the table with live
 * XState actors.
 */
import { createActor, type Actor, type StateValueFrom } from 'xstate'
import {
  jobCounting,
  jobGuards,
  jobMachine,
  type JobCounters,
  type JobMachineEvent,
} from '../../machines/job.machine.ts'

export type JobState = StateValueFrom<typeof jobMachine>
export type { JobCounters }
export type JobActor = Actor<typeof jobMachine>
export type ArrowEvent = JobMachineEvent['type']
export type StateTag = 'birth' | 'live' | 'backlog' | 'timed' | 'leased' | 'ended'

type Guard = keyof typeof jobGuards
type Counting = keyof typeof jobCounting

/** One arrow of the chart. */
export interface Arrow {
  readonly event: ArrowEvent
  readonly from: JobState
  readonly to: JobState
  /** The condition under which it is taken; the guards of one event are evaluated in the chart's order. */
  readonly guard: Guard | null
  /** Its effect on the counters. */
  readonly counting: Counting | null
}

type Table = Readonly<Record<JobState, Readonly<Partial<Record<ArrowEvent, readonly Arrow[]>>>>>

function assertThat(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new TypeError(`job.machine.ts: ${claim}; the compiled table cannot express it`)
}

function compile(): Table {
  const table: Partial<Record<JobState, Partial<Record<ArrowEvent, readonly Arrow[]>>>> = {}
  for (const node of Object.values(jobMachine.states)) {
    const from = node.key as JobState
    assertThat(Object.keys(node.states).length === 0, `state ${from} is not flat`)
    assertThat((node.always ?? []).length === 0, `state ${from} has an eventless transition`)
    assertThat(node.after.length === 0 && node.invoke.length === 0, `state ${from} has a timer or an actor`)
    assertThat(node.entry.length === 0 && node.exit.length === 0, `state ${from} has entry or exit actions`)
    const row: Partial<Record<ArrowEvent, readonly Arrow[]>> = {}
    for (const [event, transitions] of node.transitions) {
      row[event as ArrowEvent] = transitions.map((transition): Arrow => {
        const guard = (transition.guard ?? null) as Guard | null
        assertThat(guard === null || guard in jobGuards, `guard ${String(guard)} of ${from} has no name`)
        const names = transition.actions.map((action) => (typeof action === 'object' ? action.type : String(action)))
        assertThat(names.length <= 1 && names.every((name) => name in jobCounting), `${from} has an unknown action`)
        const target = transition.target?.[0]
        assertThat(target !== undefined && transition.target?.length === 1, `${event} of ${from} has no single target`)
        return {
          event: event as ArrowEvent,
          from,
          to: target.key as JobState,
          guard,
          counting: (names[0] ?? null) as Counting | null,
        }
      })
    }
    table[from] = row
  }
  return table as Table
}

const table = compile()

/** Every state, in the chart's order. */
export const jobStates = Object.keys(table) as readonly JobState[]

const tagged = (tag: StateTag): ReadonlySet<JobState> =>
  new Set(jobStates.filter((state) => jobMachine.states[state]?.tags.includes(tag)))

const stateSets: Readonly<Record<StateTag, ReadonlySet<JobState>>> = {
  birth: tagged('birth'),
  live: tagged('live'),
  backlog: tagged('backlog'),
  timed: tagged('timed'),
  leased: tagged('leased'),
  ended: tagged('ended'),
}

/** The states that carry a tag of the chart. */
export const statesTagged = (tag: StateTag): ReadonlySet<JobState> => stateSets[tag]

export const isEnded = (state: JobState): boolean => stateSets.ended.has(state)
export const isLeased = (state: JobState): boolean => stateSets.leased.has(state)

/** Is it an event of the chart? The log has other events, too. */
export const isArrow = (event: string): event is ArrowEvent => arrowEvents.has(event)

/** All arrows of the chart, in its order. */
export const allArrows: readonly Arrow[] = jobStates.flatMap((state) => Object.values(table[state]).flat())

const arrowEvents: ReadonlySet<string> = new Set(allArrows.map(({ event }) => event))

/** The arrows that leave a state, by event. */
export const arrowsFrom = (state: JobState): Readonly<Partial<Record<ArrowEvent, readonly Arrow[]>>> => table[state]

/** The arrows of an event by source state, regardless of guards. Stores build their statements from it. */
export function arrows(event: ArrowEvent): Partial<Record<JobState, readonly Arrow[]>> {
  return Object.fromEntries(jobStates.flatMap((state) => (table[state][event] ? [[state, table[state][event]]] : [])))
}

/**
 * The arrow an event takes from a state, or null if the state does not take it.
 * @param fatal of a FAIL: no further attempt
 */
export function nextArrow(state: JobState, event: ArrowEvent, counters: JobCounters, fatal = false): Arrow | null {
  const candidates = table[state][event]
  if (candidates === undefined) return null
  for (const arrow of candidates) if (isTaken(arrow, counters, fatal)) return arrow
  return null
}

/** Does its guard, if it has one, let a job take this arrow? */
export const isTaken = ({ event, guard }: Arrow, counters: JobCounters, fatal = false): boolean =>
  guard === null || jobGuards[guard](counters, { type: event, fatal })

/** How an arrow changes the counters; null if it does not. */
export const counterChange = ({ counting }: Arrow): ((before: JobCounters) => JobCounters) | null =>
  counting === null ? null : jobCounting[counting]

/** The counters after an arrow. */
export const countersAfter = (arrow: Arrow, counters: JobCounters): JobCounters =>
  counterChange(arrow)?.(counters) ?? counters

/** A live XState actor of the chart at a job's state, to inspect or to subscribe to. It does not change the job. */
export function actorAt(state: JobState, counters: JobCounters): JobActor {
  const { attempt, maxAttempts, generation } = counters
  const snapshot = jobMachine.resolveState({ value: state, context: { attempt, maxAttempts, generation } })
  return createActor(jobMachine, { snapshot, input: undefined }).start()
}
