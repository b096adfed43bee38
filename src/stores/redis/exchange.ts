/**
 * Sends settlements and claims. A worker claims in the turn in which it settles: then both go in one call, in which the
 * server settles before it claims. Calls of the server cost more than what they do for a job.
 */
import type { Reply } from './connection.ts'
import { typesText } from './figures.ts'

type Answer = readonly Reply[]
type Run = (name: 'settle' | 'claim' | 'exchange', request: readonly string[]) => Promise<Answer>

/** Settlements that wait for a claim of the same turn. */
interface Waiting {
  readonly types: readonly string[]
  readonly items: readonly string[]
  readonly answer: PromiseWithResolvers<Answer>
}

export class Exchange {
  private readonly run: Run
  private waiting: Waiting | null = null

  /** @param run runs a script; gives what follows the time and the wake-ups in its answer */
  constructor(run: Run) {
    this.run = run
  }

  /** @param types those of the jobs, as far as they are known @param items the arguments of the script `settle` */
  settle(types: readonly string[], items: readonly string[]): Promise<Answer> {
    this.sendWaiting()
    const waiting = { types, items, answer: Promise.withResolvers<Answer>() }
    this.waiting = waiting
    queueMicrotask(() => {
      if (this.waiting === waiting) this.sendWaiting()
    })
    return waiting.answer.promise
  }

  /** @param request the argument of the script `claim` */
  async claim(types: readonly string[], request: string): Promise<Answer> {
    const { waiting } = this
    if (waiting === null) return this.run('claim', [typesText(types), request])
    this.waiting = null
    const both = this.run('exchange', [typesText(new Set([...waiting.types, ...types])), request, ...waiting.items])
    waiting.answer.resolve(both.then(([settled]) => settled as Answer))
    const [, claimed] = await both
    return claimed as Answer
  }

  private sendWaiting(): void {
    const { waiting } = this
    if (waiting === null) return
    this.waiting = null
    waiting.answer.resolve(this.run('settle', [typesText(waiting.types), ...waiting.items]))
  }
}
