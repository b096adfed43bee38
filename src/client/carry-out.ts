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

/**
 * @param goesOn false: nothing more is carried out
 * @returns the jobs whose inserts are left for later: see `CarryOutAnswer.held`
 * @throws JobchartError STORE_UNAVAILABLE
 */
export async function carryOutAll(
  { store, hub, logger }: CarryOutOptions,
  goesOn: () => boolean,
): Promise<ReadonlySet<string>> {
  const held = new Set<string>()
  const { transactions } = store
  if (transactions === undefined) return held
  for (let more = true; more && goesOn();) {
    const answer = await transactions.carryOut(batchSize)
    hub.emitAll(answer.transitions)
    for (const { intent, error } of answer.refused) {
      logger.warn('a call in a transaction was refused after the commit', { ...namesOf(intent), error })
    }
    for (const id of answer.held.flatMap(insertedBy)) held.add(id)
    more = answer.more
  }
  return held
}

/** The ids of the jobs that an intent inserts. */
export const insertedBy = ({ kind, request }: TxIntent): readonly string[] =>
  kind === 'insert' ? request.jobs.map(({ id }) => id) : []

/** What a log line names of an intent: not its payload. */
function namesOf({ kind, request }: TxIntent): { readonly kind: string; readonly ids: readonly string[] } {
  if ('jobs' in request) return { kind, ids: request.jobs.map(({ id }) => id) }
  if ('ids' in request) return { kind, ids: request.ids }
  if ('terms' in request) return { kind, ids: [request.terms.name] }
  return { kind, ids: ['name' in request ? request.name : request.id] }
}
