/** Helpers for cases with parents and child jobs. */
import type { InboxMessage } from '../../core/machine-record.ts'
import type { ClaimedJob, NewJob, Store } from '../../store.ts'
import { newJob, park, put, putAndTake, recordOf, takeOne } from './acts.ts'

const parent = { id: 'p', checkins: false }
export const child = (id: string, fields: Partial<NewJob> = {}): NewJob =>
  newJob(id, { type: 'child', parent, ...fields })
export const takeChild = (store: Store, token = 'of a child') => takeOne(store, { type: 'child', token })
export const lettersTo = async (store: Store, id: string): Promise<InboxMessage[]> =>
  (await recordOf(store, id)).inbox.map((mail) => mail.message)

/** A parent that waits, and a child of it that runs. */
export async function family(store: Store, fields: Partial<NewJob> = {}): Promise<ClaimedJob> {
  await park(store, await putAndTake(store, 'p'))
  await put(store, child('c', fields))
  return takeChild(store)
}
