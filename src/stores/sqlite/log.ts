/** The transition log: the transitions of a database transaction are one row, as JSON. */
import type { Transition } from '../../core/record.ts'
import type { JobState } from '../../core/lifecycle.ts'
import { historyEntry, type LoggedArrow } from '../../core/history.ts'
import { cursorOfEntry, entryNumber } from '../../core/cursor.ts'
import type { TransitionEntry, TransitionPage } from '../../store.ts'
import { Contradiction } from './errors.ts'
import type { Queues } from './queues.ts'
import type { Statements } from './statements.ts'

/** What the log is read with. */
interface LoggedFile {
  readonly sql: Statements
  readonly queues: Queues
  /** The number of the last transition. */
  readonly seq: number
  /** This many of the last transitions can be read. */
  readonly transitionsMax: number
}

/** What one or more jobs have done, without the jobs. */
type Move = [
  event: LoggedArrow['event'],
  from: JobState | null,
  to: JobState,
  worker: string | null,
  reason: string | null,
  queue: number,
  attempt: number,
]

/**
 * The transitions of a row have one time and consecutive numbers: of each group, those of its first job, then those of
 * the next. A transaction that claims a hundred jobs has one group with their numbers, and so has one that ends a
 * hundred machines, each with its last checkpoint. Their ids are in their rows, or in `gone`.
 */
type LoggedMoves = [moves: Move[], jobs: number[]]

interface LoggedMove {
  readonly arrow: LoggedArrow
  readonly worker: string | null
  readonly reason: string | null
  readonly queue: number
  readonly attempt: number
}

/** Jobs that have made alike moves. */
interface AlikeJobs {
  readonly moves: LoggedMove[]
  readonly jobs: number[]
}

/** Collects the transitions of a database transaction. */
class LogEntry {
  private readonly alike: AlikeJobs[] = []
  private last: AlikeJobs | null = null
  /** The last job of the last group, and how many of the moves of its group it has made. */
  private job = 0
  private made = 0

  get none(): boolean {
    return this.alike.length === 0
  }

  add(
    queue: number,
    job: number,
    arrow: LoggedArrow,
    attempt: number,
    worker: string | null,
    reason: string | null,
  ): void {
    const goesOn = job === this.job
    if (!goesOn) this.endJob()
    const { last } = this
    const expected = last?.moves[goesOn ? this.made : 0]
    const isAlike = expected?.arrow === arrow && expected.queue === queue && expected.attempt === attempt
    if (last !== null && isAlike && expected.worker === worker && expected.reason === reason) {
      if (!goesOn) last.jobs.push(job)
    } else {
      const group = goesOn ? this.apart() : this.begin([], job)
      group.moves.push({ arrow, worker, reason, queue, attempt })
    }
    this.made = goesOn ? this.made + 1 : 1
    this.job = job
  }

  private begin(moves: LoggedMove[], job: number): AlikeJobs {
    this.last = { moves, jobs: [job] }
    this.alike.push(this.last)
    return this.last
  }

  /** The last job makes no more moves. */
  private endJob(): void {
    if (this.last !== null && this.made < this.last.moves.length) this.apart()
    this.job = 0
  }

  /** Gives the last job a group of its own, if others have made more moves than it, or fewer. */
  private apart(): AlikeJobs {
    const last = this.last as AlikeJobs
    if (last.jobs.length === 1) return last
    last.jobs.pop()
    return this.begin(last.moves.slice(0, this.made), this.job)
  }

  /** Appends the transitions of a later list. */
  append(later: LogEntry): void {
    this.endJob()
    later.endJob()
    this.alike.push(...later.alike)
    this.last = null
  }

  toString(): string {
    this.endJob()
    return JSON.stringify(this.alike.map(({ moves, jobs }): LoggedMoves => [moves.map(written), jobs]))
  }
}

const written = ({ arrow: { event, from, to }, worker, reason, queue, attempt }: LoggedMove): Move => {
  return [event, from, to, worker, reason, queue, attempt]
}

/** Entries by which the log may be longer than its cap before the oldest are removed. */
const logSlack = 1_000

/** Writes the transitions of a database transaction as one row, and removes the oldest rows. */
export class LogWriter {
  private readonly sql: Statements
  private readonly transitionsMax: number
  private first = 1
  private trimmedTo = 0
  private entry = new LogEntry()
  /** The transitions before the savepoint, while there is one. */
  private before: LogEntry | null = null

  constructor(sql: Statements, transitionsMax: number) {
    this.sql = sql
    this.transitionsMax = transitionsMax
  }

  /** Begins a transaction. @param first the number of its first transition */
  begin(first: number): void {
    this.first = first
    this.entry = new LogEntry()
    this.before = null
  }

  add(...transition: Parameters<LogEntry['add']>): void {
    this.entry.add(...transition)
  }

  /** Sets a savepoint. */
  mark(): void {
    this.before = this.entry
    this.entry = new LogEntry()
  }

  /** Ends the savepoint. @param stays false removes the transitions that were added since */
  endMark(stays: boolean): void {
    if (this.before === null) return
    if (stays) this.before.append(this.entry)
    this.entry = this.before
    this.before = null
  }

  /** @param last the number of the last transition */
  write(last: number, now: number): void {
    const { sql, entry } = this
    if (entry.none) return
    sql.run('append', last, this.first, now, entry.toString())
    const oldest = last - this.transitionsMax
    if (oldest - this.trimmedTo < logSlack) return
    sql.run('forgetLog', oldest)
    sql.run('forgetGone', oldest)
    this.trimmedTo = oldest
  }
}

/** So many ids are read at once: a row may have the moves of thousands of jobs, and a page those of a few. */
const idsAtOnce = 250

/**
 * The transitions after `from`, of which none is older than the oldest that can be read: whole rows of the log, until
 * there are at least `limit` (−1 = all).
 */
export function* movesAfter(file: LoggedFile, from: number, limit: number): Generator<Transition> {
  // Each row has at least one transition, unless a repair has written it, and no two rows in succession are such.
  for (const [first, at, text] of file.sql.all('logAfter', from, limit < 0 ? limit : limit + 1)) {
    const groups = JSON.parse(text) as LoggedMoves[]
    const all = groups.flatMap(([, jobs]) => jobs)
    let ids = new Map<number, string>()
    let [seq, place, known] = [first, 0, 0]
    for (const [moves, jobs] of groups) {
      // Those whose moves are all before are passed over.
      const before = Math.min(Math.max(Math.floor((from + 1 - seq) / moves.length), 0), jobs.length)
      seq += before * moves.length
      place += before
      for (const job of before === 0 ? jobs : jobs.slice(before)) {
        if (place >= known) {
          known = place + idsAtOnce
          ids = new Map(file.sql.all('idsOf', JSON.stringify(all.slice(place, known))))
        }
        place++
        const id = ids.get(job)
        for (const [event, left, to, worker, reason, queue, attempt] of moves) {
          if (seq > from) {
            if (id === undefined) throw new Contradiction(`the file has no id of job ${job}`)
            const entry = historyEntry({ event, from: left, to }, seq, at, attempt, worker, reason)
            yield { id, type: file.queues.at(queue).type, ...entry }
          }
          seq++
        }
      }
    }
  }
}

/** The number of the oldest transition that can be read. */
export const oldestOf = (file: LoggedFile): number => Math.max(1, file.seq - file.transitionsMax + 1)

export function transitions(file: LoggedFile, cursor: string | null, limit: number): TransitionPage {
  const from = entryNumber(cursor)
  // A backup was put in place since: a reader that is ahead has seen what never was.
  if (from > file.seq) return { ...transitions(file, null, limit), lost: true }
  const oldest = oldestOf(file)
  const start = Math.max(from, oldest - 1)
  const page: TransitionEntry[] = []
  for (const transition of movesAfter(file, start, limit)) {
    if (page.length === limit) break
    page.push({ ...transition, cursor: cursorOfEntry(transition.seq) })
  }
  return { transitions: page, next: page.at(-1)?.cursor ?? cursor, lost: oldest > from + 1 }
}
