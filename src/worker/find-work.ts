/** Asks the store which queues have work: a hint may have been missed. */
import type { Observer } from 'rxjs'
import type { JobDefinition } from '../core/definition.ts'
import type { Logger } from '../core/logger.ts'
import { claimable } from '../core/compiled-arrows.ts'
import type { Store } from '../store.ts'
import type { WakeCommand } from './commands.ts'

const claimableStates = [...claimable]

interface FindWorkOptions {
  readonly store: Store
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly wakes: Pick<Observer<WakeCommand>, 'next'>
  readonly logger: Logger
}

/** Wakes the queues that have jobs, paused or not. With thousands of types this is cheaper than a claim from each. */
export async function findWork({ store, jobs, wakes, logger }: FindWorkOptions): Promise<void> {
  try {
    for (const [type, counts] of Object.entries((await store.counts()).types)) {
      if (claimableStates.some((state) => counts[state] > 0)) wakes.next({ type, atMost: Infinity })
    }
  } catch (error) {
    // The claims that follow report it, and are repeated until the store answers.
    logger.debug('could not ask for the queues that have work', { error })
    for (const type of jobs.keys()) wakes.next({ type, atMost: Infinity })
  }
}
