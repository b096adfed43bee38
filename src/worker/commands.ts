/**
 * Where commands enter: an Observable for its one subscriber, the dispatcher. A Subject would copy and walk a list of
 * observers for every command.
 */
import { Observable, type Subscriber } from 'rxjs'
import type { WorkerCommand } from './lanes.ts'

export class Commands extends Observable<WorkerCommand> {
  private subscriber: Subscriber<WorkerCommand> | null = null

  constructor() {
    super((subscriber) => {
      if (this.subscriber !== null) throw new TypeError('commands have one dispatcher')
      this.subscriber = subscriber
    })
  }

  next(command: WorkerCommand): void {
    this.subscriber?.next(command)
  }
}
