/**
 * The dispatcher: a custom RxJS operator, a trampoline with priority lanes.
 *
 * Each command enters the lane of its urgency. Lanes are handled in order of urgency, all commands of a lane at once. A
 * pick is emitted only when every lane is empty, including commands raised by handlers and earlier picks. So every
 * command given before a pick takes effect before it, in whatever order the commands were delivered.
 *
 * The commands of one turn are collected before any is handled: the end of a job does not start the next one in its own
 * call stack, the ends of a turn share one write, and a cancel goes before an end of the same turn.
 */
import { Observable, type OperatorFunction } from 'rxjs'
import type { TurnBudget } from '../core/turn-budget.ts'

export interface Command {
  /** 0 is the most urgent. */
  readonly lane: number
}

export interface DispatchOptions<C extends Command, P> {
  readonly lanes: number
  /**
   * Handles all commands of one lane, in the order of arrival. A handler with many steps checks between two of them
   * whether a command `waits` in a more urgent lane, and if so puts the rest back into its own lane.
   */
  readonly handle: (lane: number, commands: readonly C[], waits: (lane: number) => boolean) => void
  /** When to let the event loop turn. Default: never. */
  readonly budget?: TurnBudget
  /** Makes a pick; null if there is none. Called while all lanes are empty, until it returns null. */
  readonly pick: () => P | null
  /** `handle`, `pick` or the consumer of a pick threw. The dispatcher continues. */
  readonly failed: (error: unknown) => void
}

export function dispatch<C extends Command, P>(options: DispatchOptions<C, P>): OperatorFunction<C, P> {
  const { handle, pick, failed, budget } = options
  return (commands) =>
    new Observable<P>((picks) => {
      const lanes: C[][] = Array.from({ length: options.lanes }, () => [])
      const waits = (lane: number): boolean => (lanes[lane] as C[]).length > 0
      let waiting = 0
      let state: 'idle' | 'scheduled' | 'draining' = 'idle'

      const takeMostUrgent = (): void => {
        const lane = lanes.findIndex((each) => each.length > 0)
        const batch = lanes[lane] as C[]
        lanes[lane] = []
        waiting -= batch.length
        handle(lane, batch, waits)
      }
      const step = (): boolean => {
        try {
          if (waiting > 0) {
            takeMostUrgent()
            return true
          }
          const picked = pick()
          if (picked !== null) picks.next(picked)
          return picked !== null
        } catch (error) {
          failed(error)
          return waiting > 0
        }
      }
      const drain = (): void => {
        state = 'draining'
        while (!picks.closed && step()) {
          if (budget?.spent) return scheduleDrain()
        }
        state = 'idle'
      }
      const scheduleDrain = (): void => {
        state = 'scheduled'
        if (budget?.spent) budget.nextTurn(drain)
        else queueMicrotask(drain)
      }
      return commands.subscribe({
        next: (command) => {
          lanes[command.lane]?.push(command)
          waiting++
          if (state === 'idle') scheduleDrain()
        },
        error: (error: unknown) => picks.error(error),
        complete: () => picks.complete(),
      })
    })
}
