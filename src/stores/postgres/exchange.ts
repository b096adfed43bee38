/** Ends and claims of plain jobs, by one function: those of one turn are one call, which is one commit. */
import { Exchange } from '../remote/exchange.ts'
import { plainMoves } from '../remote/plain.ts'
import type { Param, ResultRow } from './connection.ts'
import { plainMoveText } from './figures.ts'

/** The parameters of one of both. */
interface Asked {
  /** When it happens: a claim happens with the ends that it goes with. */
  readonly now: number
  readonly values: readonly Param[]
}

/** What the server has claimed: see the function `exchange`. */
type ClaimedRow = readonly [
  base: number | null,
  claim: number,
  others: string[] | null,
  capped: string[] | null,
  seen: number | null,
  leased: string[] | null,
  ids: string | null,
  types: string[] | null,
  firsts: number[] | null,
  jobs: string | null,
  times: string | null,
  docs: string | null,
]

const columns =
  'ended::float8, base::float8, claim::float8, others, capped, seen::float8, leased::text[], ids, types, firsts, jobs, times, docs'
const noEnds: readonly Param[] = [[], [], [], [], [], [], [], '{}', '', '', '', '', '']
const noClaim: readonly Param[] = [[], [], null, [], [], '', '', '', 0, '', '']
const claimMove = [plainMoveText(plainMoves.claim), JSON.stringify(plainMoves.claim.counted)]

/** It answers to ends the number of the first transition; null: none was written. */
export class PlainExchange extends Exchange<Asked, Asked, number | null, ClaimedRow> {
  private readonly call: (columns: string, values: readonly Param[]) => Promise<ResultRow>

  /** @param call calls the function `exchange` */
  constructor(call: (columns: string, values: readonly Param[]) => Promise<ResultRow>) {
    super()
    this.call = call
  }

  protected async send(ends: Asked | null, claim: Asked | null): Promise<readonly [number | null, ClaimedRow]> {
    const now = (ends ?? claim)?.now ?? 0
    const values = [now, ...(ends?.values ?? noEnds), ...(claim?.values ?? noClaim), ...claimMove]
    const [ended, ...claimed] = await this.call(columns, values)
    return [ended as number | null, claimed as unknown as ClaimedRow]
  }
}
