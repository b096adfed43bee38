/** The number of jobs that a change of all that match a filter would change, for its confirmation. */
import type { Client, JobFilter } from '../index.ts'
import { changeableStates } from '../core/bulk.ts'
import { jobStates } from '../core/lifecycle.ts'
import type { BulkChange } from '../store.ts'
import { ownValue } from '../core/own-value.ts'

/** Jobs are looked for up to this number. */
const countMax = 10_000

export interface Matching {
  readonly count: number
  /** Do more jobs match? */
  readonly more: boolean
}

/**
 * Exact where types and states alone are asked for, whose numbers the store keeps; other filters count up to 10,000
 * jobs.
 * @param kind counts only the jobs that this change applies to; default: all that match
 */
export async function countMatching(client: Client, filter: JobFilter, kind?: BulkChange['kind']): Promise<Matching> {
  const { type, state, ...others } = filter
  const asked = state === undefined ? jobStates : [...new Set([state].flat())]
  const states = kind === undefined ? asked : asked.filter((each) => changeableStates[kind].has(each))
  if (states.length === 0) return { count: 0, more: false }
  if (Object.keys(others).length === 0) {
    const { types } = await client.counts()
    const wanted = type === undefined ? Object.keys(types) : [...new Set([type].flat())]
    const counts = wanted.flatMap((each) => ownValue(types, each) ?? [])
    return {
      count: counts.reduce((sum, of) => sum + states.reduce((jobs, each) => jobs + of[each], 0), 0),
      more: false,
    }
  }
  let count = 0
  let after: string | undefined
  do {
    const page = await client.list({
      ...filter,
      ...(states.length < jobStates.length && { state: states }),
      limit: 1_000,
      fields: ['id'],
      ...(after !== undefined && { after }),
    })
    count += page.length
    after = page.next
  } while (after !== undefined && count < countMax)
  return { count, more: after !== undefined }
}
