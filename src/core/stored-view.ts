/** Shows a checkpoint to a process that cannot run its machine: what is stored, without the chart. */
import type { JobchartError } from './errors.ts'
import type { MachineTypes, MachineView } from './machine-record.ts'
import type { Json } from './payload.ts'
import { statesIn } from './state-paths.ts'
import { actorKey, errorKey, unescaped } from './state-marks.ts'

/** The members of a stored state that are shown. */
interface StoredState {
  readonly machine?: { readonly version?: string }
  readonly snapshot?: {
    readonly value?: Json
    readonly context?: Json
    readonly status?: string
    readonly output?: Json
  }
  readonly timers?: readonly {
    readonly target: string
    readonly at: number
    readonly event: { readonly type: string }
  }[]
}

/**
 * @param tags of the record: a checkpoint does not have them
 * @param why the machine cannot go on in this process; `can` throws it
 */
export function storedView<Machine extends MachineTypes>(
  state: Json,
  tags: readonly string[],
  why: JobchartError,
): MachineView<Machine> {
  const { machine, snapshot = {}, timers = [] } = (state ?? {}) as StoredState
  const value = snapshot.value ?? null
  const paths = new Set(statesIn(value))
  return {
    value,
    context: displayed(snapshot.context ?? null),
    tags,
    status: (snapshot.status ?? 'active') as MachineView['status'],
    output: snapshot.output === undefined ? undefined : displayed(snapshot.output),
    timers: timers
      .filter(({ target }) => target === '')
      .map(({ event, at }) => ({ event: event.type, at }))
      .toSorted((a, b) => a.at - b.at),
    version: machine?.version ?? '',
    unsupported: why.message,
    matches: (path) => paths.has(path),
    hasTag: (tag) => tags.includes(tag),
    can: () => {
      throw why
    },
  }
}

/** Errors as their records, actors as XState shows them: by their id. */
function displayed(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(displayed)
  const { [errorKey]: error, [actorKey]: address } = json
  if (error !== undefined) return error
  if (typeof address === 'string') return { xstate$$type: 1, id: address.split('/').at(-2) ?? '' }
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [unescaped(key), displayed(member)]))
}
