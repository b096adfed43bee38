/** What a unit adds to the activity of queues and to the groups of failures; the commit writes it. */
import { addTo, noActivity, type Counted, type Tally } from '../../core/activity.ts'
import type { Failure } from '../../core/fingerprint.ts'

/** A failed attempt, and the number of its transition. */
export interface FailedAttempt {
  readonly type: string
  readonly id: string
  readonly seq: number
  readonly failure: Failure
}

export class Counting {
  private readonly transitions: { readonly type: string; readonly counted: Counted; readonly ms: number }[] = []
  private readonly attempts: FailedAttempt[] = []
  private readonly ends: { readonly type: string; readonly outcome: string }[] = []

  get failures(): readonly FailedAttempt[] {
    return this.attempts
  }

  count(type: string, counted: Counted, ms: number): void {
    this.transitions.push({ type, counted, ms })
  }

  countFailure(attempt: FailedAttempt): void {
    this.attempts.push(attempt)
  }

  /** How machines have ended. */
  get outcomes(): readonly { readonly type: string; readonly outcome: string }[] {
    return this.ends
  }

  countOutcome(type: string, outcome: string): void {
    this.ends.push({ type, outcome })
  }

  /** What is added to the figures of each type: index of the figure and number. */
  activity(): readonly (readonly [type: string, figure: number, by: number])[] {
    const byType = new Map<string, Tally>()
    for (const { type, counted, ms } of this.transitions) {
      let tally = byType.get(type)
      if (tally === undefined) byType.set(type, (tally = noActivity()))
      addTo(tally, counted, ms)
    }
    return [...byType].flatMap(([type, tally]) =>
      tally.flatMap((by, figure) => (by === 0 ? [] : [[type, figure, by] as const])),
    )
  }

  /** How much was added so far. */
  save(): { readonly transitions: number; readonly attempts: number; readonly ends: number } {
    return { transitions: this.transitions.length, attempts: this.attempts.length, ends: this.ends.length }
  }

  /** Removes what was added since. */
  restore({ transitions, attempts, ends }: ReturnType<Counting['save']>): void {
    this.transitions.length = transitions
    this.attempts.length = attempts
    this.ends.length = ends
  }
}
