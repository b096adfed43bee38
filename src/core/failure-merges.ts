/**
 * Groups of failures that people have put together, because one cause has several messages: each is still counted for
 * itself, and they are told as one.
 */
import { caps } from './caps.ts'
import { JobchartError } from './errors.ts'
import type { FailureGroup } from './figures.ts'

export interface FailureMerge {
  readonly type: string
  /** Two at least; the first one names the group. */
  readonly fingerprints: readonly string[]
}

/** Puts groups of a type together, with all that was put together with one of them before; or takes some out again. */
export type FailureMergeChange =
  | { readonly type: string; readonly together: readonly string[] }
  | { readonly type: string; readonly apart: readonly string[] }

/** A group that may be several which were put together: with their figures in one. */
export interface MergedFailureGroup extends FailureGroup {
  /** `fingerprint` first. The filter `{ type, failure: fingerprints }` finds the jobs of all. */
  readonly fingerprints: readonly string[]
}

/** @throws JobchartError INVALID_INPUT if they would be too many: nothing is changed then */
export function mergesAfter(merges: readonly FailureMerge[], change: FailureMergeChange): readonly FailureMerge[] {
  const { type } = change
  if ('apart' in change) {
    const apart = new Set(change.apart)
    return merges
      .map((merge) =>
        merge.type === type
          ? { type, fingerprints: merge.fingerprints.filter((fingerprint) => !apart.has(fingerprint)) }
          : merge,
      )
      .filter(({ fingerprints }) => fingerprints.length > 1)
  }
  const own = new Set(change.together)
  const isTouched = (merge: FailureMerge): boolean =>
    merge.type === type && merge.fingerprints.some((fingerprint) => own.has(fingerprint))
  const touched = merges.filter(isTouched)
  const fingerprints = [...new Set([...own, ...touched.flatMap((merge) => merge.fingerprints)])]
  const after = [...merges.filter((merge) => !isTouched(merge)), { type, fingerprints }]
  if (fingerprints.length > caps.failureGroups || after.length > caps.failureMerges) {
    throw new JobchartError(
      'INVALID_INPUT',
      `more than ${caps.failureGroups} groups of failures in one, or more than ${caps.failureMerges} such groups`,
      { hint: 'Take some apart first.' },
    )
  }
  return after
}

/** @param groups those of all types that were asked for, the one that has occurred last first */
export function mergedGroups(
  groups: readonly FailureGroup[],
  merges: readonly FailureMerge[],
): readonly MergedFailureGroup[] {
  const mergeOf = (group: FailureGroup): FailureMerge | undefined =>
    merges.find(({ type, fingerprints }) => type === group.type && fingerprints.includes(group.fingerprint))
  // In the order of the group that has occurred last.
  const parts = Map.groupBy(groups, (group) => mergeOf(group) ?? group)
  return [...parts].map(([of, all]) => {
    if (!('fingerprints' in of)) return { ...of, fingerprints: [of.fingerprint] }
    const [latest] = all as [FailureGroup]
    const named = of.fingerprints.flatMap((fingerprint) => all.find((each) => each.fingerprint === fingerprint) ?? [])
    const sum = (figure: 'count' | 'dead'): number => all.reduce((total, each) => total + each[figure], 0)
    return {
      ...(named[0] ?? latest),
      count: sum('count'),
      dead: sum('dead'),
      firstAt: Math.min(...all.map(({ firstAt }) => firstAt)),
      lastAt: latest.lastAt,
      lastId: latest.lastId,
      fingerprints: [...new Set([...named.map(({ fingerprint }) => fingerprint), ...of.fingerprints])],
    }
  })
}
