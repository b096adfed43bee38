/**
 * The dispatcher: a custom RxJS operator, a trampoline with lanes.
 *
 * Commands come in, each in the lane of its urgency. They are handled lane by lane, a whole lane at a time, and a pick
 * leaves only when every lane is empty, including the commands that handling and earlier picks have raised meanwhile. So
 * whatever was asked before a pick has its effect before the pick, whoever asked and in whatever order it was delivered.
 *
 * Commands of one turn are collected before any is handled: a job that ends does not start the next one in its own call
 * stack, releases travel in one write, and a cancel asked in the same turn as a release goes first.
 */
import { Observable, type OperatorFunction } from 'rxjs'
import type { TurnBudget } from './turn-budget.ts'

export interface Command {
  /** 0 is the most urgent. */
  readonly lane: number
}

export interface DispatchOptions<C extends Command, P> {
  readonly lanes: number
  /**
   * All commands of one lane, in the order in which they came. What takes many steps asks between two of them whether
   * something `waits` in a more urgent lane, and if so puts the rest back into its own.
   */
  readonly handle: (lane: number, commands: readonly C[], waits: (lane: number) => boolean) => void
  /** When to let the event loop turn. Default: never. */
  readonly pace?: TurnBudget
  /** Is there something to pick? Asked with all lanes empty, until it answers null. */
  readonly pick: () => P | null
  /** `handle`, `pick` or the pick's consumer threw. The dispatcher goes on. */
  readonly failed: (error: unknown) => void
}

export function dispatch<C extends Command, P>(options: DispatchOptions<C, P>): OperatorFunction<C, P> {
  const { handle, pick, failed, pace } = options
  return (commands) =>
    new Observable<P>((picks) => {
      const lanes: C[][] = Array.from({ length: options.lanes }, () => [])
      const waits = (lane: number): boolean => (lanes[lane] as C[]).length > 0
      let waiting = 0
      let turn: 'idle' | 'announced' | 'draining' = 'idle'

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
        turn = 'draining'
        while (!picks.closed && step()) {
          if (pace?.spent) return announce()
        }
        turn = 'idle'
      }
      const announce = (): void => {
        turn = 'announced'
        if (pace?.spent) pace.nextTurn(drain)
        else queueMicrotask(drain)
      }
      return commands.subscribe({
        next: (command) => {
          lanes[command.lane]?.push(command)
          waiting++
          if (turn === 'idle') announce()
        },
        error: (error: unknown) => picks.error(error),
        complete: () => picks.complete(),
      })
    })
}
