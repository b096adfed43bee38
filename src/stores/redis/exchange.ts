/** Settlements and claims, which go in one script if they are of one turn. */
import { Exchange } from '../remote/exchange.ts'
import type { Reply } from './connection.ts'
import { typesText } from './figures.ts'

type Answer = readonly Reply[]
type Run = (name: 'settle' | 'claim' | 'exchange', request: readonly string[]) => Promise<Answer>

interface Settlements {
  /** Those of the jobs, as far as they are known. */
  readonly types: readonly string[]
  /** The arguments of the script `settle`. */
  readonly items: readonly string[]
}

interface Claim {
  readonly types: readonly string[]
  /** The argument of the script `claim`. */
  readonly request: string
}

export class RedisExchange extends Exchange<Settlements, Claim, Answer, Answer> {
  private readonly run: Run

  /** @param run runs a script; gives what follows the time and the wake-ups in its answer */
  constructor(run: Run) {
    super()
    this.run = run
  }

  protected async send(ends: Settlements | null, claim: Claim | null): Promise<readonly [Answer, Answer]> {
    const { types = [], items = [] } = ends ?? {}
    if (claim === null) return [await this.run('settle', [typesText(types), ...items]), []]
    if (ends === null) return [[], await this.run('claim', [typesText(claim.types), claim.request])]
    const all = typesText(new Set([...types, ...claim.types]))
    const [settled, claimed] = await this.run('exchange', [all, claim.request, ...items])
    return [settled as Answer, claimed as Answer]
  }
}
