/**
 * Runs operations of the core over a round trip: loads what they need, runs them again from their start, and commits
 * under the condition that everything is still as it was read. Calls of a process take effect in the order in which
 * they were made.
 *
 *   what is known to be needed ─▶ load ─▶ operate ─▶ commit ─▶ answer
 *                                  ▲        │ more     │ stale
 *                                  └────────┴──────────┘
 */
import { systemClock, systemRandom, type Clock, type Timer } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import type { JobRow } from '../../core/job-row.ts'
import type { Answer } from '../../store.ts'
import type { CellKind } from './cells.ts'
import { LeasedRows } from './leased-rows.ts'
import { NotLoaded, type Need } from './needs.ts'
import type { Given } from './source.ts'
import { ItemFailed, numbered, Transaction } from './transaction.ts'
import { WorkingSet, type LoadedRow, type SelectedIds } from './working-set.ts'

/** Rounds of a call at most: of loading, and of commits that came too late. */
export const roundsMax = { load: 1_000, commit: 50 }

/** A server that has answered nothing for so long does not delay a close, ms. */
const silentMsMax = 500

/** A commit that was carried out. */
export interface Written {
  /** The number that its first transition got; the others follow without a gap. */
  readonly base: number
  /** A row as the server has it now; null: it must be loaded. */
  readonly rowOf: (row: JobRow) => LoadedRow | null
}

/** What rows are loaded from and committed to. */
export interface Server {
  /** What messages call it. */
  readonly name: string
  /** What was read in another epoch may have been written anew, with the same revisions; '' if there are none. */
  readonly epoch: string
  /** The store's time as far as it is known here, ms. */
  now(): number
  /** Loads what is needed, together. */
  load(needs: readonly Need[], into: WorkingSet): Answer<void>
  /**
   * Writes what a transaction has changed, if everything is as it was read.
   * @returns or the names of what has changed meanwhile: `row ID`, `CELLS FIELD`, `backlog`, `slots N TYPE`, `time`,
   * `epoch`; `fences`: a committed transaction ends one of the leases, and must be carried out first; `held ID`: a row
   * that it was not to wait for
   */
  commit(transaction: Transaction): Answer<Written | readonly string[]>
  readonly commitEach?: CommitEach
}

/** A job of a page, which has a transaction of its own. */
interface JobApart {
  readonly id: string
  readonly transaction: Transaction
  /** What became of it: `progress` counts it. */
  readonly outcomes: readonly string[]
}

/**
 * The record of a bulk operation: a small value, in which the commit counts what became of the jobs that it has
 * changed, as `counts`, and names those that are left, as `left`.
 */
export interface Progress {
  readonly cells: CellKind
  readonly field: string
  readonly counts: object
  /** The other members. */
  readonly others: object
}

/**
 * Commits transactions together, each under its own conditions, whatever becomes of the others.
 * @param head what must hold for all of them, and hints
 * @returns null for each of which something has changed; null for all if the head does not hold
 */
export type CommitEach = (
  jobs: readonly JobApart[],
  epoch: string,
  head: Transaction | null,
  progress: Progress | null,
) => Promise<readonly (Written | null)[] | null>

const isWritten = (answer: Written | readonly string[]): answer is Written => 'base' in answer

interface Operated<T> {
  readonly transaction: Transaction
  readonly answer: T
}

/** Others have changed the same jobs each time. */
export const contended = (server: string, hint: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${server}: other processes have changed the same jobs each time`, { hint })

/** What is known of an operation beforehand. */
interface Preparation<T> {
  readonly needs?: readonly Need[]
  /** What this process believes to be so. */
  readonly believe?: (set: WorkingSet) => void
  /** What is tried before: one command; null if it did nothing. */
  readonly attempt?: () => Promise<T | null>
  /** Is the attempt sent behind earlier calls, without waiting for their answers? */
  readonly inLine?: boolean
  /** What is done instead if anything has changed meanwhile. */
  readonly instead?: () => Promise<T>
  /** Do items fail alone that change a job whose row somebody else holds? Otherwise the commit waits for it. */
  readonly leavesHeld?: boolean
  /** What is done instead if jobs have changed meanwhile, with the page that was found by a filter. */
  readonly apart?: (page: SelectedIds | null) => Promise<T>
}

/** An operation, and what is known of it beforehand. */
type Unfence = () => readonly [operate: (transaction: Transaction) => unknown, prepare: Preparation<unknown>]

export class RemoteDriver {
  readonly leased: LeasedRows
  readonly server: Server
  private readonly unfence: Unfence | null
  /** Of virtual time: it does not pass during a call. */
  private clock: Clock | null = null
  /** That of the server when it was looked at last. */
  private epoch = ''
  /** How many calls were asked for. */
  asked = 0
  /** How many answers have come: a call may take several. */
  private answers = 0
  /** Calls that have not ended. */
  private readonly calls = new Set<Promise<unknown>>()
  /** Ends when the last call that needs several rounds has ended; null if none is under way. */
  private lastTurn: Promise<unknown> | null = null

  /** @param unfence carries out what ends leases that a commit was refused for */
  constructor(server: Server, leased = new LeasedRows(), unfence: Unfence | null = null) {
    this.server = server
    this.unfence = unfence
    this.leased = leased
  }

  /** @param clock of who opens the store */
  open(clock: Clock): void {
    this.clock = clock
  }

  /**
   * Does something that may take several rounds: after all that was asked for before, and before all that is asked for
   * later.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.whenEnded().then(work)
    const over = turn.then(ignore, ignore)
    this.lastTurn = over
    void over.then(() => {
      if (this.lastTurn === over) this.lastTurn = null
    })
    return this.added(turn)
  }

  /**
   * Does something that is one command: it is sent behind those that were sent before, without waiting for their
   * answers, and is carried out after them.
   */
  inLine<T>(work: () => Promise<T>): Promise<T> {
    return this.added(this.lastTurn === null ? work() : this.lastTurn.then(work))
  }

  /** Reads after all that was asked for before. */
  afterWrites<T>(read: () => Promise<T>): Promise<T> {
    const call = this.whenEnded().then(read)
    this.clock?.during?.(call)
    return call
  }

  /** Resolves when all calls until now have ended, or when nothing is answered for a while: of a close. */
  async rest(): Promise<void> {
    const { promise: silence, resolve } = Promise.withResolvers<void>()
    const lookFrom = (before: number): Timer =>
      systemClock.timer(
        () => {
          if (this.answers === before) resolve()
          else timer = lookFrom(this.answers)
        },
        silentMsMax,
        { keepAlive: true },
      )
    let timer = lookFrom(this.answers)
    await Promise.race([this.inTurn(async () => {}), silence]).finally(() => timer.cancel())
  }

  private added<T>(call: Promise<T>): Promise<T> {
    const over = (): void => {
      this.calls.delete(call)
      this.answers++
    }
    this.asked++
    this.calls.add(call)
    this.clock?.during?.(call)
    call.then(over, over)
    return call
  }

  /** Ends when all calls until now have ended. */
  private async whenEnded(): Promise<void> {
    if (this.calls.size > 0) await Promise.allSettled(this.calls)
  }

  /** Runs an operation and commits what it has written. */
  write<T>(operate: (transaction: Transaction) => T, prepare: Preparation<T> = {}): Promise<T> {
    const { attempt, inLine } = prepare
    if (attempt === undefined) return this.inTurn(() => this.writeInTurn(operate, prepare))
    const work = async (): Promise<T> => (await attempt()) ?? this.writeInTurn(operate, prepare)
    return inLine === true ? this.inLine(work) : this.inTurn(work)
  }

  /** The same in a turn that the caller has. */
  async writeInTurn<T>(operate: (transaction: Transaction) => T, prepare: Preparation<T>): Promise<T> {
    const begin = (): { set: WorkingSet; needs: readonly Need[] } => {
      const set = this.newSet()
      if (prepare.leavesHeld === true) set.held = new Set()
      prepare.believe?.(set)
      return { set, needs: (prepare.needs ?? []).filter((need) => need.kind !== 'row' || !set.rows.has(need.id)) }
    }
    let { set, needs } = begin()
    for (let tries = 0; tries < roundsMax.commit; tries++) {
      const { transaction, answer } = await this.operate(operate, set, needs)
      const outcome = await this.server.commit(transaction)
      this.answers++
      if (isWritten(outcome)) {
        this.wrote(transaction, outcome)
        return numbered(answer, outcome.base)
      }
      const changed = outcome.flatMap((name) => (name.startsWith('row ') ? [name.slice(4)] : []))
      for (const id of changed) this.leased.forget(id)
      if (prepare.instead !== undefined) return prepare.instead()
      if (prepare.apart !== undefined && changed.length > 0)
        return prepare.apart([...set.selections.values()][0] ?? null)
      if (outcome.includes('fences') && this.unfence !== null) await this.writeInTurn(...this.unfence())
      const held = outcome.flatMap((name) => (name.startsWith('held ') ? [name.slice(5)] : []))
      if (outcome.includes('epoch')) ({ set, needs } = begin())
      else if (held.length > 0) {
        for (const id of held) set.held?.add(id)
        needs = []
      } else {
        set.forget(outcome)
        needs = outcome.flatMap(needOf)
      }
      await this.pause(tries)
    }
    throw contended(this.server.name, 'Nothing was written. Call again, with fewer jobs at once.')
  }

  /** Several processes that want the same rows take turns. @param tries how often it was in vain before */
  async pause(tries: number): Promise<void> {
    if (tries > 1) await pause(systemRandom() * Math.min(2 ** tries, 100))
  }

  newSet(): WorkingSet {
    const { epoch } = this.server
    // Rows may have been written anew, with the same revisions.
    if (epoch !== this.epoch) this.leased.forgetAll()
    this.epoch = epoch
    return new WorkingSet(epoch)
  }

  begin(set: WorkingSet, given: Given | null = null): Transaction {
    return new Transaction(set, this.server.now(), given)
  }

  /** @param given what a selection finds; null = what was loaded */
  async operate<T>(
    operate: (transaction: Transaction) => T,
    set: WorkingSet,
    first: readonly Need[],
    given: Given | null = null,
  ): Promise<Operated<T>> {
    const [operated] = await this.operateAll(operate, set, first, [null], given)
    return operated as Operated<T>
  }

  /** Runs an operation for each of some items, in a transaction of its own. */
  async operateEach<I, T>(
    operate: (transaction: Transaction, item: I) => T,
    set: WorkingSet,
    items: readonly I[],
  ): Promise<Operated<T>[]> {
    return this.operateAll(operate, set, [], items)
  }

  private async operateAll<I, T>(
    operate: (transaction: Transaction, item: I) => T,
    set: WorkingSet,
    first: readonly Need[],
    items: readonly I[],
    given: Given | null = null,
  ): Promise<Operated<T>[]> {
    let needs = first
    for (let rounds = 0; rounds < roundsMax.load; rounds++) {
      if (needs.length > 0) await this.server.load(needs, set)
      this.answers++
      const missing: Need[] = []
      let again = false
      const operated = items.flatMap((item): Operated<T>[] => {
        const transaction = this.begin(set, given)
        try {
          return [{ transaction, answer: operate(transaction, item) }]
        } catch (error) {
          if (error instanceof NotLoaded) missing.push(...error.needs)
          else if (error instanceof ItemFailed) again = true
          else throw error
          return []
        }
      })
      if (missing.length === 0 && !again) return operated
      needs = missing
    }
    throw new TypeError('an operation needs more and more')
  }

  /** A transaction was committed. */
  wrote(transaction: Transaction, { base, rowOf }: Written): void {
    transaction.base = base
    if (base > 0) this.leased.wrote(transaction.changes.rows, rowOf)
  }
}

const ignore = (): void => {}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.timer(resolve, ms, { keepAlive: true }))

function needOf(name: string): Need[] {
  if (name === 'backlog' || name === 'time' || name === 'fences' || name.startsWith('slots ')) return []
  const space = name.indexOf(' ')
  const [kind, rest] = [name.slice(0, space), name.slice(space + 1)]
  if (kind === 'row') return [{ kind: 'row', id: rest }]
  return [{ kind: 'cell', cells: kind as CellKind, field: rest }]
}
