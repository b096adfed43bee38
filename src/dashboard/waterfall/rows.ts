/**
 * The rows of a waterfall: the lanes of a family as a tree that opens and closes. Many brothers in one state are one
 * row.
 */
import type { JobState } from '../../index.ts'
import { beginOf, endOf, type Lane, type MachineStay } from './lanes.ts'

/** A job of a family, and what is known of its children. */
export interface FamilyMember {
  readonly lane: Lane
  /** Ids of its children, in the order of their enqueue. */
  readonly children: readonly string[]
  /** Are there more children than these, or may there be? */
  readonly hasMore: boolean
  readonly states: readonly MachineStay[]
}

export type Members = ReadonlyMap<string, FamilyMember>

interface RowBase {
  /** Distinct among the rows. */
  readonly key: string
  /** 0 for the job whose waterfall it is. */
  readonly depth: number
}

/** A job; below it its children, if it is open. */
interface JobRow extends RowBase {
  readonly kind: 'job'
  readonly lane: Lane
  /** null if it has no children. */
  readonly isOpen: boolean | null
}

/** The states of the machine of the job above. */
interface StatesRow extends RowBase {
  readonly kind: 'states'
  readonly lane: Lane
  readonly states: readonly MachineStay[]
}

/** Jobs of one type and state below the same job. */
interface FoldRow extends RowBase {
  readonly kind: 'fold'
  readonly type: string
  readonly state: JobState
  readonly lanes: readonly Lane[]
  readonly isOpen: boolean
}

export type Row = JobRow | StatesRow | FoldRow

/** More brothers than this of one type and state are folded. */
const foldedAbove = 8
/** Of these states, the first ones are shown beside the fold. */
const troubled: ReadonlySet<JobState> = new Set(['dead', 'retrying', 'running', 'cancelling'])

const foldKey = (parent: string, { type, state }: Lane): string => `${parent} ${state} ${type}`

/**
 * @param opened keys of rows that were opened or closed by hand, and how; the others are open if they are jobs
 */
export function rowsOf(members: Members, root: string, opened: ReadonlyMap<string, boolean>): Row[] {
  const rows: Row[] = []
  const addJob = (id: string, depth: number): void => {
    const member = members.get(id)
    if (member === undefined) return
    const { lane, children, hasMore, states } = member
    const canOpen = children.length > 0 || hasMore
    const isOpen = canOpen ? (opened.get(id) ?? children.length > 0) : null
    rows.push({ kind: 'job', key: id, depth, lane, isOpen })
    if (states.length > 0 && isOpen !== false) {
      rows.push({ kind: 'states', key: `${id} states`, depth: depth + 1, lane, states })
    }
    if (isOpen === true) addChildren(id, children, depth + 1)
  }
  const addChildren = (parent: string, ids: readonly string[], depth: number): void => {
    const groups = groupsOf(members, parent, ids)
    const told = new Set<string>()
    for (const id of ids) {
      const lane = members.get(id)?.lane
      if (lane === undefined) continue
      const key = foldKey(parent, lane)
      const lanes = groups.get(key) ?? []
      if (lanes.length <= foldedAbove) addJob(id, depth)
      else if (!told.has(key)) {
        told.add(key)
        const shown = troubled.has(lane.state) ? lanes.slice(0, foldedAbove) : []
        const folded = lanes.slice(shown.length)
        for (const each of shown) addJob(each.id, depth)
        const isOpen = opened.get(key) ?? false
        rows.push({ kind: 'fold', key, depth, type: lane.type, state: lane.state, lanes: folded, isOpen })
        if (isOpen) for (const each of folded) addJob(each.id, depth + 1)
      }
    }
  }
  addJob(root, 0)
  return rows
}

function groupsOf(members: Members, parent: string, ids: readonly string[]): Map<string, Lane[]> {
  const groups = new Map<string, Lane[]>()
  for (const id of ids) {
    const lane = members.get(id)?.lane
    if (lane === undefined) continue
    const key = foldKey(parent, lane)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [lane])
    else group.push(lane)
  }
  return groups
}

/**
 * What is opened when the way to a job is.
 * @param way ids from the outermost job to that one
 */
export function openedTo(
  members: Members,
  root: string,
  opened: ReadonlyMap<string, boolean>,
  way: readonly string[],
): ReadonlyMap<string, boolean> {
  const all = new Map(opened)
  all.set(root, true)
  for (const id of way) {
    const fold = rowsOf(members, root, all).find(
      (row) => row.kind === 'fold' && row.lanes.some((lane) => lane.id === id),
    )
    if (fold !== undefined) all.set(fold.key, true)
    if (id !== way.at(-1)) all.set(id, true)
  }
  return all
}

/** A time from and to, ms since the epoch. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The whole time of a family. @param now where a job goes on */
export function spanOf(members: Members, root: string, now: number): Span {
  const lane = members.get(root)?.lane
  const from = lane === undefined ? now : beginOf(lane)
  let to = from + 1
  for (const { lane: each } of members.values()) to = Math.max(to, endOf(each) ?? Math.max(now, beginOf(each)))
  return { from, to }
}

/** What a job does by itself goes on; one that waits may do so for days. */
const goesOn: ReadonlySet<JobState> = new Set(['queued', 'running', 'retrying', 'cancelling'])

/** What happened within fewer ms is one mark, however much of the time is shown. */
const eventfulMin = 10

/** The part of the whole time in which something happened, if that is the smaller part: else all of it. */
export function eventfulSpan(members: Members, whole: Span): Span {
  let to = whole.from + 1
  for (const { lane } of members.values())
    to = Math.max(to, goesOn.has(lane.state) ? whole.to : (lane.stays.at(-1)?.at ?? 0))
  const length = to - whole.from
  return length >= eventfulMin && length * 2 < whole.to - whole.from
    ? { from: whole.from, to: to + length * 0.2 }
    : whole
}

/** How many of the lanes are in each state, the most first. */
export function statesOf(lanes: Iterable<Lane>): (readonly [JobState, number])[] {
  const counts = new Map<JobState, number>()
  for (const { state } of lanes) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}

/** Does a row show a job that has failed, or is failing? */
export const hasTrouble = (row: Row): boolean =>
  row.kind === 'job'
    ? row.lane.errors.length > 0 || row.lane.state === 'dead'
    : row.kind === 'fold' && row.state === 'dead'
