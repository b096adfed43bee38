/**
 * The dispatcher: a trampoline with lanes, most urgent first. A lane is an operator: a stream enters it, and comes out
 * when its turn has come, all commands together or as a turn from which they are taken.
 *
 * Lanes are emptied in order of urgency. `free` emits only when every lane is empty, including commands raised while
 * others were handled. So every command given before a pick takes effect before it, in whatever order the commands were
 * delivered.
 *
 * The commands of one turn are collected before any is handled: the end of a job does not start the next one in its own
 * call stack, the ends of a turn share one write, and a cancel goes before an end of the same turn.
 */
import { EMPTY, Observable, Subject, type OperatorFunction, type Subscriber } from 'rxjs'
import type { TurnBudget } from '../core/turn-budget.ts'

/** Most urgent first. Stops and pauses have none: each stage asks for them when it begins work. */
export const Lane = { cancel: 0, start: 1, settle: 2, claimed: 3, wake: 4, idle: 5 } as const
type Urgency = (typeof Lane)[keyof typeof Lane]

/** What waits in a lane, taken one by one. The rest stays in the lane, and comes out in a later turn. */
export interface Turn<T> {
  /** Null: nothing waits, the lane is held, or a more urgent lane goes first. */
  next(): T | null
  /** Those that have not been taken, in their order. */
  readonly rest: readonly T[]
}

interface LanesOptions {
  /** When to let the event loop turn. Default: never. */
  readonly budget?: Pick<TurnBudget, 'spent' | 'nextTurn'>
  /** Calls `run` at the end of this turn, when its commands are collected. */
  readonly atTurnEnd?: (run: () => void) => void
}

export class Lanes {
  /** Emits after commands were handled, and after `nudge`, when every lane is empty: a pick may be made. */
  readonly free: Observable<void>
  private readonly frees = new Subject<void>()
  /** How each lane is emptied; null: it has no commands yet. */
  private readonly emits: ((() => void) | null)[] = Object.values(Lane).map(() => null)
  /** Bit n: commands wait in lane n, and it is not held. */
  private due = 0
  private state: 'idle' | 'scheduled' | 'draining' = 'idle'
  /** Was anything handled since `free` emitted last? */
  private mayBeFree = false
  private readonly budget: LanesOptions['budget']
  private readonly atTurnEnd: (run: () => void) => void

  constructor({ budget, atTurnEnd }: LanesOptions = {}) {
    this.budget = budget
    // In a browser it cannot be called as a method.
    this.atTurnEnd = atTurnEnd ?? ((run) => queueMicrotask(run))
    this.free = this.frees.asObservable()
  }

  /**
   * All commands that wait come out together.
   * @param held while its last value is true, they wait
   */
  batches<T>(urgency: Urgency, held: Observable<boolean> = EMPTY): OperatorFunction<T, readonly T[]> {
    return this.lane(urgency, (out: Subscriber<readonly T[]>) => new BatchQueue<T>(out), held)
  }

  /**
   * Commands are taken one by one; after each, more urgent lanes go first.
   * @param held while its last value is true, there is no turn
   */
  turns<T>(urgency: Urgency, held: Observable<boolean> = EMPTY): OperatorFunction<readonly T[], Turn<T>> {
    const isOvertaken = (): boolean => (this.due & ((1 << urgency) - 1)) !== 0
    return this.lane(urgency, (out: Subscriber<Turn<T>>) => new TurnQueue<T>(out, isOvertaken), held)
  }

  /** What picks depend on has changed: `free` emits when every lane is empty. */
  nudge(): void {
    this.mayBeFree = true
    this.schedule()
  }

  private lane<T, R>(
    urgency: Urgency,
    queueFor: (out: Subscriber<R>) => Queue<T>,
    held: Observable<boolean>,
  ): OperatorFunction<T, R> {
    const bit = 1 << urgency
    return (commands) =>
      new Observable((out) => {
        if (this.emits[urgency] !== null) throw new TypeError(`lane ${urgency} has its commands already`)
        const queue = queueFor(out)
        // What is left while it is emptied keeps its commands, and is not emptied again.
        const update = (): void => {
          this.due = queue.isDue && !out.closed ? this.due | bit : this.due & ~bit
        }
        this.emits[urgency] = () => {
          queue.emit()
          update()
        }
        out.add(() => {
          this.emits[urgency] = null
          this.due &= ~bit
        })
        out.add(
          held.subscribe((isHeld) => {
            queue.isHeld = isHeld
            update()
            this.schedule()
          }),
        )
        return commands.subscribe({
          next: (command) => {
            queue.push(command)
            update()
            if (this.state === 'idle') this.schedule()
          },
          error: (error: unknown) => out.error(error),
          complete: () => out.complete(),
        })
      })
  }

  private schedule(): void {
    if (this.state === 'idle') this.scheduleDrain()
  }

  private scheduleDrain(): void {
    this.state = 'scheduled'
    // Asked before the drain: its turn begins with the first command.
    if (this.budget?.spent === true) this.budget.nextTurn(this.drain)
    else this.atTurnEnd(this.drain)
  }

  private readonly drain = (): void => {
    this.state = 'draining'
    while (this.step()) {
      if ((this.due !== 0 || this.mayBeFree) && this.budget?.spent === true) return this.scheduleDrain()
    }
    this.state = 'idle'
  }

  private step(): boolean {
    if (this.due !== 0) {
      this.mayBeFree = true
      this.emits[lowestBit(this.due)]?.()
      return true
    }
    const { mayBeFree } = this
    this.mayBeFree = false
    if (mayBeFree) this.frees.next()
    return mayBeFree
  }
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits)

interface Queue<T> {
  isHeld: boolean
  readonly isDue: boolean
  push(command: T): void
  emit(): void
}

class BatchQueue<T> implements Queue<T> {
  isHeld = false
  private commands: T[] = []
  private readonly out: Subscriber<readonly T[]>

  constructor(out: Subscriber<readonly T[]>) {
    this.out = out
  }

  get isDue(): boolean {
    return this.commands.length > 0 && !this.isHeld
  }

  push(command: T): void {
    this.commands.push(command)
  }

  emit(): void {
    const { commands } = this
    this.commands = []
    this.out.next(commands)
  }
}

class TurnQueue<T> implements Queue<readonly T[]>, Turn<T> {
  isHeld = false
  private commands: T[] = []
  /** The index of the first that has not been taken. */
  private first = 0
  private readonly out: Subscriber<Turn<T>>
  private readonly isOvertaken: () => boolean

  constructor(out: Subscriber<Turn<T>>, isOvertaken: () => boolean) {
    this.out = out
    this.isOvertaken = isOvertaken
  }

  get isDue(): boolean {
    return this.first < this.commands.length && !this.isHeld
  }

  get rest(): readonly T[] {
    return this.commands.slice(this.first)
  }

  push(commands: readonly T[]): void {
    for (const command of commands) this.commands.push(command)
  }

  next(): T | null {
    if (!this.isDue || this.isOvertaken()) return null
    const command = this.commands[this.first++] as T
    if (this.first === this.commands.length) {
      this.commands = []
      this.first = 0
    }
    return command
  }

  emit(): void {
    this.out.next(this)
  }
}
