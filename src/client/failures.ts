/** Groups of failures as they are told: those that people have put together as one. */
import { caps } from '../core/caps.ts'
import { mergedGroups, type MergedFailureGroup } from '../core/failure-merges.ts'
import type { FailureQuery, Store } from '../store.ts'

export async function failuresIn(
  store: Store,
  query: FailureQuery & { readonly limit: number },
): Promise<readonly MergedFailureGroup[]> {
  const merges = await store.failureMerges()
  // Some of a merged group may have occurred long before the others.
  const groups = await store.failures(merges.length === 0 ? query : { ...query, limit: caps.pageMax })
  return mergedGroups(groups, merges).slice(0, query.limit)
}
