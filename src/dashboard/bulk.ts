/** Changes of all jobs that match a filter: bulk operations of the store, which go on when the page is closed. */
import type { BulkOperation, BulkRequest, JobFilter } from '../index.ts'
import type { JsonObject } from './body.ts'
import type { DashboardSettings } from './options.ts'
import { cancelOptionsIn, checkOptions, retryOptionsIn } from './queries.ts'
import { shownFilter } from './redaction.ts'

/** An operation as a page shows it: what only those who carry it out need is left out. */
export type ShownOperation = Omit<BulkOperation, 'change' | 'batchSize' | 'cursor' | 'token' | 'leaseUntil'> & {
  readonly kind: BulkOperation['change']['kind']
}

export function shownOperation({ redact, client }: DashboardSettings, operation: BulkOperation): ShownOperation {
  const { id, change, state, counts, expected, requestedAt, endedAt, error } = operation
  const filter = shownFilter(redact, operation.filter, client.jobs.keys())
  return { id, kind: change.kind, filter, state, counts, expected, requestedAt, endedAt, error }
}

/** Starts an operation; this process carries it out in the background. The client checks the values. */
export async function startOperation(
  settings: DashboardSettings,
  kind: BulkRequest['kind'],
  filter: JobFilter,
  body: JsonObject,
): Promise<{ readonly operation: ShownOperation }> {
  checkOptions(kind, body)
  const { expected } = body
  const common = { filter, ...(expected !== undefined && { expected: expected as number }) }
  const operation = await settings.client.bulk.start(
    kind === 'retry'
      ? { kind, ...common, ...retryOptionsIn(body) }
      : kind === 'cancel'
        ? { kind, ...common, ...cancelOptionsIn(body) }
        : { kind, ...common },
  )
  return { operation: shownOperation(settings, operation) }
}

export async function operations(
  settings: DashboardSettings,
): Promise<{ readonly now: number; readonly operations: readonly ShownOperation[] }> {
  const { client } = settings
  const all = await client.bulk.list()
  return { now: client.store.now(), operations: all.map((each) => shownOperation(settings, each)) }
}
