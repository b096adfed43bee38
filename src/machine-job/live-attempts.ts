/** The services of a live machine for the durable promises in it. */
import type { AnyActorRef } from 'xstate'
import type { Random, Timer } from '../core/clock.ts'
import type { JobchartError } from '../core/errors.ts'
import type { Steps } from '../core/steps.ts'
import type { ActorSteps } from './actor-steps.ts'
import type { ActorAddresses } from './addresses.ts'
import type { AttemptServices } from './machine-run-services.ts'
import type { Plan } from './plan.ts'
import type { DurableTimers } from './timers.ts'

/** What the run of the machine gives. */
export interface AttemptHost extends Pick<AttemptServices, 'random' | 'after' | 'log' | 'traced'> {
  readonly steps: ActorSteps
}

export class LiveAttempts implements AttemptServices {
  private readonly host: AttemptHost
  private readonly plan: Plan
  private readonly timers: DurableTimers
  private readonly addresses: ActorAddresses

  constructor(host: AttemptHost, plan: Plan, timers: DurableTimers, addresses: ActorAddresses) {
    this.host = host
    this.plan = plan
    this.timers = timers
    this.addresses = addresses
  }

  get random(): Random {
    return this.host.random
  }

  after(delayMs: number, run: () => void): Timer {
    return this.host.after(delayMs, run)
  }

  begin(begin: () => void): void {
    this.plan.hold({ kind: 'attempt', begin })
  }

  log(message: string): void {
    this.host.log(message)
  }

  traced<T>(kind: 'actor' | 'step', name: string, work: () => T): T {
    return this.host.traced(kind, name, work)
  }

  isTimerSet(actor: AnyActorRef, id: string): boolean {
    return this.timers.isSet(actor, id)
  }

  steps(actor: AnyActorRef, attempt: string, refusal: () => JobchartError | null): Steps {
    return this.host.steps.of(this.addresses.of(actor), attempt, refusal)
  }
}
