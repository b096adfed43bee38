/**
 * Figures over a round trip. Each commit appends what it changes of them, and a process that reads them adds what was
 * appended since it has read last: no commit waits for another, or for the row of a counter. Now and then a process
 * writes down the sum, and removes what it is made of.
 */
import { pending } from '../remote/transaction.ts'
import { statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { JobDocument } from '../remote/document.ts'
import type { Writes } from '../remote/commit.ts'
import { foldFigures, typesOf, type TypeFigures } from '../remote/figures.ts'
import type { PlainMove } from '../remote/plain.ts'
import { madeColumn, type Ask, type Param } from './connection.ts'
import { columnText, textOfColumn } from './texts.ts'

/** So many commits are folded together: a reader that knows nothing reads as many. */
const foldEvery = 500

/** What figures depend on of a job. */
interface Standing extends Pick<JobDocument, 'state'>, Partial<Pick<JobDocument, 'failure' | 'finishedAt'>> {
  readonly machine?: MachineStanding
}

const standingOf = (job: JobDocument | null): Standing | null => {
  if (job === null) return null
  const { state, failure, finishedAt, machine } = job
  const isDead = state === 'dead' && failure !== null
  return {
    state,
    ...(isDead && { failure, finishedAt }),
    ...(machine !== null && { machine: { states: machine.states, tags: machine.tags } }),
  }
}

/** A job before and after a commit, and how many others have moved the same way. */
interface Move {
  readonly type: string
  readonly before: Standing | null
  readonly after: Standing | null
  readonly n: number
}

type Body = Pick<Writes, 'now' | 'activity' | 'failures' | 'outcomes'> &
  Partial<Pick<Writes, 'heat'>> & {
    readonly moves: readonly Move[]
    readonly paused: readonly string[]
  }

function movesOf(jobs: Writes['jobs']): Move[] {
  const moves = new Map<string, Move>()
  for (const { before, after } of jobs) {
    const [was, is] = [standingOf(before), standingOf(after)]
    const name = JSON.stringify([(before ?? after)?.type, was, is])
    const known = moves.get(name)
    moves.set(name, { type: (before ?? after)?.type ?? '', before: was, after: is, n: (known?.n ?? 0) + 1 })
  }
  return [...moves.values()].filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after))
}

const backlog = statesTagged('backlog')
const leased = statesTagged('leased')

/** The parameters of a commit: types, by how much backlog and leases of each grow, and what a reader adds. */
export function moveParams(writes: Writes): Param[] {
  const { now, activity, failures, outcomes, heat, cells } = writes
  const moves = movesOf(writes.jobs)
  const growth = new Map<string, { waiting: number; leased: number }>()
  for (const { type, before, after, n } of moves) {
    const waiting = n * grown(backlog, before, after)
    const leases = n * grown(leased, before, after)
    if (waiting === 0 && leases === 0) continue
    const known = growth.get(type)
    growth.set(type, { waiting: (known?.waiting ?? 0) + waiting, leased: (known?.leased ?? 0) + leases })
  }
  const each = [...growth.values()]
  const paused = cells.flatMap((cell) => (cell.cells === 'paused' ? [cell.field] : []))
  const body: Body = { now, moves, activity, failures, outcomes, paused, ...(heat.length > 0 && { heat }) }
  return [
    [...growth.keys()].map(columnText),
    each.map(({ waiting }) => waiting),
    each.map(({ leased: leases }) => leases),
    JSON.stringify(body),
  ]
}

/** The same of plain jobs, each with the time that counts. Moves and activity are JSON, with commas between them. */
export function plainMoveParams(
  { before, after, counted }: PlainMove,
  types: readonly string[],
  times: readonly number[] = [],
): [types: string[], growth: number[], moves: string, activity: string] {
  const sums = new Map<string, { n: number; ms: number }>()
  for (const [i, type] of types.entries()) {
    const sum = sums.get(type) ?? { n: 0, ms: 0 }
    sums.set(type, sum)
    sum.n++
    sum.ms += Math.max(0, times[i] ?? 0)
  }
  const by = grown(backlog, before, after)
  const moves = [...sums].map(([type, { n }]) => ({ type, before, after, n }))
  const activity = [...sums].map(([type, { n, ms }]) => ({ type, counted, ms, n }))
  return [[...sums.keys()], moves.map(({ n }) => n * by), listed(moves), listed(activity)]
}

const listed = (items: readonly object[]): string => JSON.stringify(items).slice(1, -1)

/** The members of a move, as JSON: for a server that counts the jobs itself. */
export const plainMoveText = ({ before, after }: Omit<PlainMove, 'counted'>): string =>
  JSON.stringify({ before, after }).slice(1, -1)

type Before = Pick<Standing, 'state'> | null

/** By how much the number of jobs in some states grows with one. */
const grown = (states: ReadonlySet<JobState>, before: Before, after: Before): number =>
  Number(after !== null && states.has(after.state)) - Number(before !== null && states.has(before.state))

/** A commit as `foldFigures` reads it. */
function writesOf({ now, moves, activity, outcomes, heat = [], paused, ...body }: Body, base: number): Writes {
  const document = (type: string, standing: Standing | null): JobDocument | null =>
    standing && ({ type, failure: null, machine: null, finishedAt: null, ...standing } as JobDocument)
  const jobs = moves.map(({ type, before, after, n }) => ({
    id: '',
    before: document(type, before),
    after: document(type, after),
    n,
  }))
  const failures = body.failures.map((each) => ({ ...each, seq: each.seq - pending + base }))
  const cells = paused.map((field) => ({ cells: 'paused', field, value: null }) as const)
  return { now, count: 0, jobs, log: [], cells, activity, failures, outcomes, heat }
}

/** What figures are of one moment. */
export interface Figures {
  readonly byType: ReadonlyMap<string, TypeFigures>
  /** The number of the last transition that they have. */
  readonly last: number
  /** The number of the last move that they have. */
  readonly upto: number
}

/**
 * The number of the last transition, as a part of a statement. `max` would read all that was ever in the log where a
 * transaction that stays open keeps it, if the planner takes the table for an empty one.
 */
export const lastOf = (schema: string): string => `(SELECT last FROM ${schema}.log ORDER BY last DESC LIMIT 1)`

const nothingWritten: Pick<Figures, 'byType' | 'upto'> = { byType: new Map(), upto: -1 }

export class FigureReader {
  private readonly ask: Ask
  private readonly schema: string
  private readonly made: (number: number) => void
  private byType = new Map<string, TypeFigures>()
  /** The last move that they have. */
  private upto = -1
  private last = 0
  private timesForgotten = 0
  /** How many moves there were when the last sum was written down, or could not be. */
  private triedAt = 0
  /** The last sum that is known to be written down, and up to which move. */
  private written: Pick<Figures, 'byType' | 'upto'> = nothingWritten

  /** @param made is told of `madeColumn` with each answer, before that is used */
  constructor(ask: Ask, schema: string, made: (number: number) => void = () => {}) {
    this.ask = ask
    this.schema = schema
    this.made = made
  }

  /** The figures as they are now. Answers may come in any order: what is known already is not added again. */
  async read(ask = this.ask): Promise<Figures> {
    const { timesForgotten } = this
    const text = `SELECT *, ${madeColumn(this.schema)} FROM ${this.schema}.figures_after($1)`
    const rows = await ask(text, [this.upto], 'jobchart figures')
    this.made(rows[0]?.[5] as number)
    // It tells what came after figures that are known no more.
    if (timesForgotten !== this.timesForgotten) return this.read(ask)
    const head = rows.find(([kind]) => kind === 0)
    const [, folded = 0, , , last] = head ?? []
    if ((folded as number) > this.upto) {
      this.byType = new Map()
      for (const [kind, , type, value] of rows) {
        if (kind === 1) this.byType.set(textOfColumn(type as string), JSON.parse(value as string) as TypeFigures)
      }
      this.upto = folded as number
      this.written = { byType: new Map(this.byType), upto: this.upto }
    }
    const moves = rows.filter(([kind, move]) => kind === 2 && (move as number) > this.upto)
    for (const [, move, , body, base] of moves.toSorted((a, b) => (a[1] as number) - (b[1] as number))) {
      const writes = writesOf(JSON.parse(body as string) as Body, base as number)
      for (const type of typesOf(writes)) this.byType.set(type, foldFigures(this.byType.get(type), writes, type))
      this.upto = move as number
    }
    this.last = Math.max(this.last, (last as number | null) ?? 0)
    return { byType: new Map(this.byType), last: this.last, upto: this.upto }
  }

  /** What is known is forgotten: the server may have been set back. */
  forget(): void {
    this.upto = -1
    this.last = 0
    this.written = nothingWritten
    this.timesForgotten++
  }

  /**
   * Writes down the sum, if there are many moves; where a stranger holds the row of the sum, after as many again.
   * @param unfolded how many there are
   */
  async foldIfMany(unfolded: number): Promise<void> {
    if (unfolded < this.triedAt) this.triedAt = 0
    if (unfolded < this.triedAt + foldEvery) return
    this.triedAt = unfolded
    const [row] = await this.ask(`SELECT upto::float8 FROM ${this.schema}.folds`)
    const known = row?.[0] as number
    const { byType, upto } = await this.read()
    if (upto - known < foldEvery) return
    // Figures that have changed are another object.
    const before = this.written.upto === known ? this.written.byType : nothingWritten.byType
    const changed = [...byType].filter(([type, figures]) => figures !== before.get(type))
    const { timesForgotten } = this
    const isWritten = await writeFigures(this.ask, this.schema, known, upto, changed)
    if (isWritten && timesForgotten === this.timesForgotten) this.written = { byType, upto }
  }
}

/** Writes sums down. @param known up to which move those before were. @returns false if others have, or hold a row */
export async function writeFigures(
  ask: Ask,
  schema: string,
  known: number,
  upto: number,
  changed: readonly (readonly [type: string, figures: TypeFigures])[],
): Promise<boolean> {
  const [answer] = await ask(`SELECT ${schema}.fold($1, $2, $3, $4, $5, $6)`, [
    known,
    upto,
    changed.map(([type]) => columnText(type)),
    changed.map(([, { counts }]) => sumOf(counts, backlog)),
    changed.map(([, { counts }]) => sumOf(counts, leased)),
    changed.map(([, figures]) => JSON.stringify(figures)),
  ])
  return answer?.[0] === true
}

const sumOf = (counts: TypeFigures['counts'], states: Iterable<JobState>): number =>
  [...states].reduce((sum, state) => sum + (counts[state] ?? 0), 0)
