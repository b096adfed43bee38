/**
 * Where commands enter: an Observable for its one subscriber, the dispatcher. A Subject would copy and walk a list of
 * observers for every command.
 */
import { Observable, type Subscriber } from 'rxjs'
import type { FlowCommand } from './lanes.ts'

export class Commands extends Observable<FlowCommand> {
  private subscriber: Subscriber<FlowCommand> | null = null

  constructor() {
    super((subscriber) => {
      if (this.subscriber !== null) throw new TypeError('commands have one dispatcher')
      this.subscriber = subscriber
    })
  }

  next(command: FlowCommand): void {
    this.subscriber?.next(command)
  }
}
