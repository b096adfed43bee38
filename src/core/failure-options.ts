/** Options of calls that ask for groups of failures, or merge them. */
import { caps } from './caps.ts'
import { byDefault, integer, listOf, table, text, where, type RulesOf } from './checks.ts'
import type { FailureMergeChange } from './failure-merges.ts'
import type { FailureQuery } from './figures.ts'
import { limits } from './limits.ts'

const typeName = text(limits.idCharsMax)

export const failureOptions = table({
  type: typeName,
  limit: byDefault(100, integer(1, caps.pageMax)),
} satisfies RulesOf<FailureQuery>)

const fingerprints = listOf('a list of fingerprints', text(limits.idCharsMax), caps.failureGroups)
const several = where(fingerprints, (all) => new Set(all).size > 1, 'two fingerprints or more')

/** @throws JobchartError INVALID_OPTION */
export const checkMerge = (type: string, merged: readonly string[]): FailureMergeChange => ({
  type: typeName(type, 'type'),
  together: several(merged, 'fingerprints'),
})

/** @throws JobchartError INVALID_OPTION */
export const checkSplit = (type: string, split: readonly string[]): FailureMergeChange => ({
  type: typeName(type, 'type'),
  apart: fingerprints(split, 'fingerprints'),
})
