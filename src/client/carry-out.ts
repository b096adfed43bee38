/** Carries out what committed transactions have left, all that is there. */
import type { Logger } from '../core/logger.ts'
import type { Store, TxIntent } from '../store.ts'
import type { EventHub } from './event-hub.ts'

/** Calls that one commit carries out. */
const batchSize = 100

interface CarryOutOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly logger: Logger
}

/** @param goesOn false: nothing more is carried out @throws JobchartError STORE_UNAVAILABLE */
export async function carryOutAll({ store, hub, logger }: CarryOutOptions, goesOn: () => boolean): Promise<void> {
  const { transactions } = store
  if (transactions === undefined) return
  for (let more = true; more && goesOn();) {
    const answer = await transactions.carryOut(batchSize)
    hub.emitAll(answer.transitions)
    for (const { intent, error } of answer.refused) {
      logger.warn('a call in a transaction was refused after the commit', { ...namesOf(intent), error })
    }
    more = answer.more
  }
}

/** What a log line names of an intent: not its payload. */
function namesOf({ kind, request }: TxIntent): { readonly kind: string; readonly ids: readonly string[] } {
  if ('jobs' in request) return { kind, ids: request.jobs.map(({ id }) => id) }
  if ('ids' in request) return { kind, ids: request.ids }
  if ('terms' in request) return { kind, ids: [request.terms.name] }
  return { kind, ids: ['name' in request ? request.name : request.id] }
}
