/**
 * Runs operations of the core over a round trip: loads what they need, runs them again from their start, and commits
 * under the condition that everything is still as it was read. Calls of a process take effect in the order in which
 * they were made.
 *
 *   what is known to be needed ─▶ load ─▶ operate ─▶ commit ─▶ answer
 *                                  ▲        │ more     │ stale
 *                                  └────────┴──────────┘
 */
import { systemClock, systemRandom } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import { LeasedRows } from './leased-rows.ts'
import { NotLoaded, type Need } from './needs.ts'
import type { Row } from './row.ts'
import { pending, RemoteUnit, type Only } from './unit.ts'
import { WorkingSet, type SelectedIds } from './working-set.ts'

/** Rounds of a call at most: of loading, and of commits that came too late. */
export const roundsMax = { load: 1_000, commit: 50 }

interface Operated<T> {
  readonly unit: RemoteUnit
  readonly answer: T
}

/** Others have changed the same jobs each time. */
export const contended = (server: string, hint: string): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${server}: other processes have changed the same jobs each time`, { hint })

export abstract class RemoteDriver {
  readonly leased = new LeasedRows()
  /** What messages call the server. */
  abstract readonly server: string
  /** Ends when all calls until now have ended. */
  private tail: Promise<unknown> = Promise.resolve()
  /** Ends when the last call that needs several rounds has ended; null if none is under way. */
  private lastTurn: Promise<unknown> | null = null
  /** The number that the first entry of the log got in the last commit. */
  private base = 0

  /** The id of the current epoch of the log: what was read in another one may have been written anew. */
  abstract get epoch(): string

  /** The store's time as far as it is known here, ms. */
  protected abstract get now(): number

  /** Loads what is needed, together. */
  abstract load(needs: readonly Need[], set: WorkingSet): Promise<void>

  /**
   * Writes what a unit has changed, if everything is as it was read, and calls `wrote`.
   * @returns null, or the names of what has changed meanwhile: `row ID`, `CELLS FIELD`, `backlog`, `slots N TYPE`,
   * `time`, `epoch`
   */
  protected abstract commit(unit: RemoteUnit, set: WorkingSet, epoch: string): Promise<readonly string[] | null>

  /** Reads the epochs again. */
  abstract greet(): Promise<void>

  /** The letters of a row as it is now: see `LoadedRow.has`. */
  protected abstract lettersOf(row: Row): string

  /**
   * Does something that may take several rounds: after all that was asked for before, and before all that is asked for
   * later.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.tail.then(work)
    const ended = turn.then(ignore, ignore)
    this.tail = this.lastTurn = ended
    void ended.then(() => {
      if (this.lastTurn === ended) this.lastTurn = null
    })
    return turn
  }

  /**
   * Does something that is one command: it is sent behind those that were sent before, without waiting for their
   * answers, and is carried out after them.
   */
  inLine<T>(work: () => Promise<T>): Promise<T> {
    const call = this.lastTurn === null ? work() : this.lastTurn.then(work)
    this.tail = Promise.all([this.tail, call.then(ignore, ignore)])
    return call
  }

  /** Reads after all that was asked for before. */
  async afterWrites<T>(read: () => Promise<T>): Promise<T> {
    await this.tail
    return read()
  }

  /**
   * Runs an operation and commits what it has written.
   * @param prepare what is known to be needed, what this process believes to be so, and what is tried before: null if
   * it did nothing;
   * `apart`: what is done instead if jobs have changed meanwhile, with the page that was found by filter
   */
  write<T>(
    operate: (unit: RemoteUnit) => T,
    prepare: {
      readonly needs?: readonly Need[]
      readonly believe?: (set: WorkingSet) => void
      readonly attempt?: () => Promise<T | null>
      readonly apart?: (page: SelectedIds | null) => Promise<T>
    } = {},
  ): Promise<T> {
    return this.inTurn(async () => {
      const done = (await prepare.attempt?.()) ?? null
      if (done !== null) return done
      const begin = (): { set: WorkingSet; needs: readonly Need[]; epoch: string } => {
        const set = new WorkingSet()
        prepare.believe?.(set)
        const needs = (prepare.needs ?? []).filter((need) => need.kind !== 'row' || !set.rows.has(need.id))
        return { set, needs, epoch: this.epoch }
      }
      let { set, needs, epoch } = begin()
      for (let tries = 0; tries < roundsMax.commit; tries++) {
        const { unit, answer } = await this.operate(operate, set, needs)
        const stale = await this.commit(unit, set, epoch)
        if (stale === null) return numbered(answer, this.base)
        const changed = stale.filter((name) => name.startsWith('row ')).map((name) => name.slice(4))
        for (const id of changed) this.leased.forget(id)
        if (prepare.apart !== undefined && changed.length > 0) {
          return prepare.apart([...set.selections.values()][0] ?? null)
        }
        if (stale.includes('epoch')) {
          await this.greet()
          ;({ set, needs, epoch } = begin())
        } else {
          set.forget(stale)
          needs = stale.flatMap(needOf)
        }
        // Several processes that want the same rows take turns.
        await this.pause(tries)
      }
      throw contended(this.server, 'Nothing was written. Call again, with fewer jobs at once.')
    })
  }

  /** Several processes that want the same rows take turns. @param tries how often it was in vain before */
  async pause(tries: number): Promise<void> {
    if (tries > 1) await pause(systemRandom() * Math.min(2 ** tries, 100))
  }

  unitOf(set: WorkingSet, only: Only | null = null): RemoteUnit {
    return new RemoteUnit(set, this.now, only)
  }

  /** @param only a selection has only these jobs */
  async operate<T>(
    operate: (unit: RemoteUnit) => T,
    set: WorkingSet,
    first: readonly Need[],
    only: Only | null = null,
  ): Promise<Operated<T>> {
    const [operated] = await this.operateAll(operate, set, first, [only])
    return operated as Operated<T>
  }

  /** Runs an operation for each of some jobs of a selection, in a unit of its own. */
  async operateEach<T>(
    operate: (unit: RemoteUnit) => T,
    set: WorkingSet,
    ids: readonly string[],
  ): Promise<(Operated<T> & { readonly id: string })[]> {
    const only = ids.map((id): Only => ({ ids: [id], next: null }))
    const operated = await this.operateAll(operate, set, [], only)
    return operated.map((each, i) => ({ ...each, id: ids[i] as string }))
  }

  private async operateAll<T>(
    operate: (unit: RemoteUnit) => T,
    set: WorkingSet,
    first: readonly Need[],
    only: readonly (Only | null)[],
  ): Promise<Operated<T>[]> {
    let needs = first
    for (let rounds = 0; rounds < roundsMax.load; rounds++) {
      if (needs.length > 0) await this.load(needs, set)
      const missing: Need[] = []
      const operated = only.flatMap((each): Operated<T>[] => {
        const unit = this.unitOf(set, each)
        try {
          return [{ unit, answer: operate(unit) }]
        } catch (error) {
          if (!(error instanceof NotLoaded)) throw error
          missing.push(...error.needs)
          return []
        }
      })
      if (missing.length === 0) return operated
      needs = missing
    }
    throw new TypeError('an operation needs more and more')
  }

  /** @param base the number that its first transition got */
  wrote(unit: RemoteUnit, base: number): void {
    this.base = base
    this.leased.wrote(unit.rows.values(), base, (row) => this.lettersOf(row))
  }
}

const ignore = (): void => {}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.timer(resolve, ms, { keepAlive: true }))

function needOf(name: string): Need[] {
  if (name === 'backlog' || name === 'time' || name.startsWith('slots ')) return []
  const space = name.indexOf(' ')
  const [kind, rest] = [name.slice(0, space), name.slice(space + 1)]
  if (kind === 'row') return [{ kind: 'row', id: rest }]
  return [{ kind: 'cell', cells: kind as (Need & { readonly kind: 'cell' })['cells'], field: rest }]
}

/**
 * Where answers carry the numbers of transitions: nowhere else is looked, because payloads are none of our business.
 */
const carriers = ['transitions', 'transition', 'woken', 'successor', 'hook', 'superseded', 'ticks'] as const

/** An answer with the numbers that the commit has given. */
export function numbered<T>(answer: T, base: number): T {
  if (Array.isArray(answer)) for (const item of answer) numbered(item, base)
  else if (typeof answer === 'object' && answer !== null) {
    const fields = answer as Record<string, unknown>
    if (typeof fields.seq === 'number' && fields.seq >= pending) fields.seq = fields.seq - pending + base
    for (const name of carriers) if (fields[name] !== undefined) numbered(fields[name], base)
  }
  return answer
}
