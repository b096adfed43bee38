/**
 * The ends of plain jobs: those of one claim that end together are written by few statements, as the call of a
 * statement costs as much as the row that it writes.
 */
import { jsonOf } from '../../core/cell.ts'
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'

/** The rows of the statements, the most first. */
const sizes = { writePlainEnds16: 16, writePlainEnds4: 4 } as const

type Shared = readonly [
  token: string | null,
  worker: string | null,
  startedAt: number | null,
  finishedAt: number | null,
]

export class PlainEnds {
  private readonly sql: Statements
  private shared: Shared = [null, null, null, null]
  /** Three numbers of each: its own, and those of its CLAIM and its end. */
  private numbers: number[] = []

  constructor(sql: Statements) {
    this.sql = sql
  }

  /** A plain job has completed in its first attempt. @param claimedSeq the number of its CLAIM */
  add({ seq, lastSeq, lastRun, startedAt, finishedAt }: Row, claimedSeq: number): void {
    const { token, worker, output } = lastRun
    const json = jsonOf(output)
    if (json !== null) {
      return this.sql.run('writePlainEnd', seq, claimedSeq, lastSeq, token, worker, startedAt, finishedAt, json)
    }
    const { shared } = this
    if (shared[0] !== token || shared[1] !== worker || shared[2] !== startedAt || shared[3] !== finishedAt) {
      this.write()
      this.shared = [token, worker, startedAt, finishedAt]
    }
    this.numbers.push(seq, claimedSeq, lastSeq)
  }

  /** Writes those that are not written yet. */
  write(): void {
    const { numbers, shared } = this
    if (numbers.length === 0) return
    this.numbers = []
    let at = 0
    for (const name of ['writePlainEnds16', 'writePlainEnds4'] as const) {
      for (const size = 3 * sizes[name]; at + size <= numbers.length; at += size) {
        this.sql.run(name, ...shared, ...numbers.slice(at, at + size))
      }
    }
    for (; at < numbers.length; at += 3) {
      const [job, claimed, last] = numbers.slice(at, at + 3) as [number, number, number]
      this.sql.run('writePlainEnd', job, claimed, last, ...shared, null)
    }
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.numbers = []
  }
}
