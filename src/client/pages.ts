/** Fills the pages of a list: one call of a store examines a bounded number of jobs and may return a short page. */
import type { Clock } from '../core/clock.ts'
import { caps } from '../core/caps.ts'
import { withCursor } from '../core/cursor.ts'
import type { JobRecord } from '../core/record.ts'
import type { JobPage, ListQuery, Store } from '../store.ts'

/** The requested page, short only at the end of the list. Yields to the event loop between two calls of the store. */
export async function wholePage<Field extends keyof JobRecord>(
  store: Store,
  clock: Clock,
  query: ListQuery<Field>,
): Promise<JobPage<Pick<JobRecord, Field>>> {
  const { limit = caps.page } = query
  const jobs: Pick<JobRecord, Field>[] = []
  let after: string | undefined
  let cursor: string | undefined
  for (;;) {
    const page = await store.list({ ...query, limit: limit - jobs.length, ...(after !== undefined && { after }) })
    jobs.push(...page)
    cursor ??= page.cursor
    after = page.next
    if (after === undefined || jobs.length >= limit) return withCursor(Object.assign(jobs, { next: after }), cursor)
    await new Promise<void>((resolve) => clock.nextTurn(resolve))
  }
}
