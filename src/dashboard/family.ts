/** A job and its children in time: what a waterfall is drawn of. */
import type { JobRecord } from '../index.ts'
import { invalidOption } from '../core/errors.ts'
import { innermost } from '../core/state-paths.ts'
import { statesAt } from './checkpoint-steps.ts'
import { inTurns, nextTurn } from './in-turns.ts'
import type { DashboardSettings } from './options.ts'
import { redacted } from './redaction.ts'
import { laneFields, laneOf, type Lane, type MachineStay } from './waterfall/lanes.ts'

/** Children that one call of the store reads: more of them would hold up the jobs of this process. */
const childrenPerCall = 50
const childrenDefault = 200
const childrenMax = 500
/** How deep the way to what has failed leads. */
const depthMax = 8

export interface FamilyView {
  readonly now: number
  readonly job: Lane
  /** The states of its machine, oldest first: those of the checkpoints that are kept. */
  readonly states: readonly MachineStay[]
  /** The job that has invoked it, if it is kept. */
  readonly parent: Lane | null
  /** The children of this page, in the order of their enqueue. */
  readonly children: readonly Lane[]
  /** The id after which the next page begins; null at the end. */
  readonly next: string | null
  /** The first child that is dead, its first child that is dead, and so on. Only on the first page. */
  readonly failed: readonly Lane[]
}

interface FamilyQuery {
  /** The id of the last child that is known; null for the first page. */
  readonly after: string | null
  readonly limit: number
}

/** @throws JobchartError INVALID_OPTION */
export function familyQueryIn(query: URLSearchParams): FamilyQuery {
  const [after, asked] = [query.get('after'), query.get('limit')]
  const limit = asked ? Number(asked) : childrenDefault
  if (!Number.isInteger(limit) || limit < 0 || limit > childrenMax)
    throw invalidOption('limit', `an integer from 0 to ${childrenMax}`, asked)
  return { after: after || null, limit }
}

type LaneRecord = Pick<JobRecord, (typeof laneFields)[number]>

/** @returns null if the job does not exist */
export async function familyView(
  settings: DashboardSettings,
  id: string,
  { after, limit }: FamilyQuery,
): Promise<FamilyView | null> {
  const { client } = settings
  const record = await (await client.job(id))?.record()
  if (record === undefined) return null
  const parent = record.parent === null ? undefined : await (await client.job(record.parent.id))?.record()
  const children: LaneRecord[] = []
  let next = after ?? undefined
  let isEnd = record.version === null || limit === 0
  while (!isEnd && children.length < limit) {
    await nextTurn()
    const count = Math.min(childrenPerCall, limit - children.length)
    const page = await client.list({
      parent: id,
      limit: count,
      fields: laneFields,
      ...(next !== undefined && { after: next }),
    })
    children.push(...page)
    next = page.next
    isEnd = next === undefined
  }
  const lane = (of: LaneRecord): Lane => shownLane(settings, of)
  await nextTurn()
  return {
    now: client.store.now(),
    job: lane(record),
    states: await machineStays(settings, record),
    parent: parent === undefined ? null : lane(parent),
    children: await inTurns(children, lane),
    next: isEnd ? null : (next ?? null),
    failed: after === null ? (await failedBelow(settings, id)).map(lane) : [],
  }
}

/** Texts of errors may be hidden. */
function shownLane({ redact }: DashboardSettings, record: LaneRecord): Lane {
  const { id, type, state, errors } = record
  return laneOf(record, redacted(redact, { id, type, state, errors }).errors ?? [])
}

async function failedBelow({ client }: DashboardSettings, id: string): Promise<LaneRecord[]> {
  const way: LaneRecord[] = []
  for (let parent = id; way.length < depthMax;) {
    const [dead] = await client.list({ parent, state: 'dead', limit: 1, fields: laneFields })
    if (dead === undefined) break
    await nextTurn()
    way.push(dead)
    if (dead.version === null) break
    parent = dead.id
  }
  return way
}

async function machineStays({ client }: DashboardSettings, { id, type }: JobRecord): Promise<MachineStay[]> {
  const runner = client.jobs.get(type)?.machine ?? null
  if (runner === null) return []
  const kept = await client.store.checkpoints(id)
  await nextTurn()
  const stays: MachineStay[] = []
  for (const { at, seq, states } of await inTurns(kept, ({ at, seq, state }) => ({
    at,
    seq,
    states: innermost(statesAt(state, runner) ?? []).join(' · '),
  }))) {
    if (states !== '' && stays.at(-1)?.states !== states) stays.push({ at, seq, states })
  }
  return stays
}
