/** Registered workers as small values, by id. */
import { inSequence, type Position } from '../../core/cursor.ts'
import { isForgotten, isLost } from '../../core/workers.ts'
import { statesTagged } from '../../core/lifecycle.ts'
import type { WorkerInfo, WorkerRecord } from '../../store.ts'
import { workerFrom, type KnownWorker } from './cells.ts'
import { recordOfDocument, type JobDocument } from './document.ts'
import type { RemoteDriver } from './driver.ts'
import type { StorePort } from './port.ts'
import type { Transaction } from './transaction.ts'
import type { WorkingSet } from './working-set.ts'

const isGone = ({ info, seenAt }: KnownWorker, now: number): boolean => isForgotten(info, now - seenAt)

/** Registers a worker, or removes it; with those that are no longer kept. */
export const register = (driver: RemoteDriver, id: string, info: WorkerInfo | null): Promise<void> =>
  driver.write((transaction) => {
    const known = transaction.set.valuesOf('workers').map(workerFrom)
    const own = transaction.cell('workers', id)
    const number = own === null ? Math.max(0, ...known.map((each) => each.number)) + 1 : workerFrom(own).number
    const gone = known.filter((each) => each.info.id !== id && isGone(each, transaction.now))
    for (const each of gone) transaction.setCell('workers', each.info.id, null)
    const record: KnownWorker | null = info && { number, info, seenAt: transaction.now }
    transaction.setCell('workers', id, record && JSON.stringify(record))
    // It may have free slots, which inserts wait for.
    for (const type of info?.types ?? []) transaction.hints.push({ kind: 'room', type })
  })

/** Heartbeats of workers. What this process has written last of one is believed; the commit says if it has changed. */
export class SeenWorkers {
  private readonly known = new Map<string, string>()

  believe(set: WorkingSet, id: string): void {
    const text = this.known.get(id)
    if (text !== undefined) set.believeCell('workers', id, text)
  }

  see(transaction: Transaction, id: string): void {
    const text = transaction.cell('workers', id)
    if (text === null) return void this.known.delete(id)
    const now = JSON.stringify({ ...workerFrom(text), seenAt: transaction.now })
    transaction.setCell('workers', id, now)
    this.known.set(id, now)
  }
}

/** The workers with what each holds, longest first. */
export async function workerRecords(port: StorePort, values: readonly string[]): Promise<WorkerRecord[]> {
  const leased: JobDocument[] = []
  const states = statesTagged('leased')
  for (let after: Position | null = null; ;) {
    const query = { by: 'enqueued', newestFirst: false, filter: {}, states, after, limit: 1_000 } as const
    const { documents, more, next } = await port.find(query)
    leased.push(...documents)
    if (!more) break
    after = next ?? inSequence(documents.at(-1)?.seq ?? Infinity)
  }
  const now = port.now()
  const byWorker = Map.groupBy(
    leased.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || a.seq - b.seq),
    ({ worker }) => worker,
  )
  const known = values
    .map(workerFrom)
    .filter((each) => !isGone(each, now))
    .toSorted((a, b) => a.number - b.number)
  return known.map(({ info, seenAt }) => ({
    ...info,
    seenAt,
    lost: isLost(info, now - seenAt),
    running: (byWorker.get(info.id) ?? []).map((document) => {
      const { id, type, attempt, startedAt, checkin } = recordOfDocument(document)
      return { id, type, attempt, since: startedAt ?? 0, checkin }
    }),
  }))
}
