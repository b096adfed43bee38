/**
 * What is promised of the end: every acknowledged job is there and has ended, with the output of the attempt that ended
 * it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { JobRecord, JobState, StateCounts, Store } from 'jobchart'
import { statesTagged } from '../../src/core/lifecycle.ts'
import type { Output } from './floor.ts'

export const liveStates = [...statesTagged('live')]

/** What somebody who waited for a result was told. */
export interface Ending {
  readonly id: string
  readonly state: JobState
  readonly output: Output | null
  /** Was the job sent through again before? Then it may have ended more than once. */
  readonly retried: boolean
}

export interface Case {
  readonly records: readonly JobRecord[]
  readonly acknowledged: ReadonlySet<string>
  readonly endings: readonly Ending[]
  readonly name: (id: string) => string
}

export function judge({ records, acknowledged, endings, name }: Case): string[] {
  const broken: string[] = []
  const byId = new Map(records.map((record) => [record.id, record]))
  for (const id of acknowledged) if (!byId.has(id)) broken.push(`${name(id)} was acknowledged and is not there`)
  for (const record of records) broken.push(...judgeRecord(record).map((what) => `${name(record.id)} ${what}`))
  for (const { id, state, output, retried } of endings) {
    const record = byId.get(id)
    if (record === undefined || retried || record.generation > 1) continue
    if (record.state !== state || (output !== null && !isDeepStrictEqual(output, record.output))) {
      broken.push(`${name(id)} is ${record.state}, but somebody was told that it is ${state}`)
    }
  }
  return broken
}

function judgeRecord({ state, attempt, maxAttempts, output, input, history }: JobRecord): string[] {
  const broken: string[] = []
  if (liveStates.includes(state)) broken.push(`is ${state} in the end`)
  if (attempt > maxAttempts) broken.push(`has spent ${attempt} of ${maxAttempts} attempts`)
  if (state === 'done' && !isDeepStrictEqual(output, { n: input, attempt })) {
    broken.push('has the output of another attempt or job')
  }
  if (history.at(-1)?.to !== state) broken.push(`is ${state}, its history says ${history.at(-1)?.to}`)
  return broken
}

/** The counts of a store against a count of its jobs. */
export async function recount(store: Store): Promise<string[]> {
  const listed = (): Promise<readonly JobRecord[]> => store.list({ limit: 1_000 })
  let records: readonly JobRecord[]
  let counts: StateCounts
  let again = await listed()
  // Where each read is a call of its own, something may be written between them; not if all jobs are afterwards as they
  // were. The counts alone may be the same again.
  do {
    records = again
    counts = await countedAll(store)
    again = await listed()
  } while (standing(again) !== standing(records))
  return Object.entries(counts).flatMap(([state, count]) => {
    const counted = records.filter((record) => record.state === state).length
    return counted === count ? [] : [`${count} jobs are said to be ${state}, there are ${counted}`]
  })
}

async function countedAll(store: Store): Promise<StateCounts> {
  const { types: _, ...counts } = await store.counts()
  return counts
}

/** The number of the last transition of each job: it never comes again. */
const standing = (records: readonly JobRecord[]): string =>
  records.map(({ id, history }) => `${id} ${history.at(-1)?.seq}`).join()
