/**
 * Sends ends and claims of plain jobs. A worker claims in the turn in which it settles: then both go in one call, which
 * is one commit. What a call costs of its own is more than what it costs for a job.
 */
import { plainMoves } from '../remote/plain.ts'
import type { Param, ResultRow } from './connection.ts'
import { plainMoveText } from './figures.ts'

/** Ends that wait for a claim of the same turn. */
interface Waiting {
  readonly now: number
  readonly values: readonly Param[]
  readonly answer: PromiseWithResolvers<number | null>
}

/** What the server has claimed: see the function `exchange`. */
type ClaimedRow = readonly [
  base: number | null,
  claim: number,
  others: string[] | null,
  ids: string | null,
  types: string | null,
  jobs: string | null,
  times: string | null,
  docs: string | null,
]

const columns = 'ended::float8, base::float8, claim::float8, others, ids, types, jobs, times, docs'
const noEnds: readonly Param[] = [[], [], [], [], '', '', '', [], '', '', '']
const noClaim: readonly Param[] = [[], [], '', '', 0, '', '']
const claimMove = [plainMoveText(plainMoves.claim), JSON.stringify(plainMoves.claim.counted)]

export class Exchange {
  private readonly call: (columns: string, values: readonly Param[]) => Promise<ResultRow>
  private waiting: Waiting | null = null

  /** @param call calls the function `exchange` */
  constructor(call: (columns: string, values: readonly Param[]) => Promise<ResultRow>) {
    this.call = call
  }

  /** When the ends happen that the next claim goes with. */
  get now(): number | undefined {
    return this.waiting?.now
  }

  /** @returns the number of the first of them; null: none was written */
  end(now: number, values: readonly Param[]): Promise<number | null> {
    this.sendWaiting()
    const waiting = { now, values, answer: Promise.withResolvers<number | null>() }
    this.waiting = waiting
    queueMicrotask(() => {
      if (this.waiting === waiting) this.sendWaiting()
    })
    return waiting.answer.promise
  }

  /** @param now that of the ends that it goes with */
  async claim(now: number, values: readonly Param[]): Promise<ClaimedRow> {
    const { waiting } = this
    this.waiting = null
    const both = this.call(columns, [now, ...(waiting?.values ?? noEnds), ...values, ...claimMove])
    waiting?.answer.resolve(both.then(([ended]) => ended as number | null))
    return (await both).slice(1) as unknown as ClaimedRow
  }

  private sendWaiting(): void {
    const { waiting } = this
    if (waiting === null) return
    this.waiting = null
    const call = this.call(columns, [waiting.now, ...waiting.values, ...noClaim, ...claimMove])
    waiting.answer.resolve(call.then(([ended]) => ended as number | null))
  }
}
