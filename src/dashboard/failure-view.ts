/** A group of failures from near: when its jobs failed, the data they have in common, and their versions. */
import type { JobMeta } from '../index.ts'
import { nextTurn } from './in-turns.ts'
import type { DashboardSettings } from './options.ts'
import { hidden, redacted } from './redaction.ts'

/** The jobs that are looked at, the ones that were enqueued last; so many are read in one turn of the event loop. */
const jobsMax = 500
const pageMax = 100
/** Members of meta, and values of each, that are shown. */
const membersMax = 8
const valuesMax = 8
/** Buckets of the strip. */
const stripMax = 48

type Scalar = string | number | boolean | null

interface Share<Value extends Scalar = Scalar> {
  readonly value: Value
  readonly jobs: number
}

export interface FailureView {
  readonly now: number
  /** The jobs that were looked at: those that were enqueued last whose last error is of the group. */
  readonly jobs: number
  /** Are there more? */
  readonly more: boolean
  /** When attempts of these jobs failed. */
  readonly strip: { readonly from: number; readonly stepMs: number; readonly failed: readonly number[] }
  /** Members of meta, those that most of these jobs have first; values by their number of jobs. */
  readonly meta: readonly { readonly name: string; readonly values: readonly Share[]; readonly others: number }[]
  /** Versions of their machines; none of plain jobs. */
  readonly versions: readonly Share<string>[]
}

export async function failureView(
  settings: DashboardSettings,
  type: string,
  fingerprint: string,
): Promise<FailureView | null> {
  const { client, redact } = settings
  const { store } = client
  const group = (await client.failures({ type, limit: 1_000 })).find((each) => each.fingerprint === fingerprint)
  if (group === undefined) return null
  const now = store.now()
  const tally = new Tally()
  const times: number[] = []
  let jobs = 0
  let after: string | undefined
  do {
    const page = await store.list({
      type,
      failure: group.fingerprints,
      order: 'newest',
      limit: pageMax,
      fields: ['id', 'type', 'meta', 'version', 'errors'],
      ...(after !== undefined && { after }),
    })
    for (const { errors, version, id, type: of, meta } of page) {
      for (const { failedAt } of errors) times.push(failedAt)
      tally.add(redacted<{ id: string; type: string; meta: JobMeta }>(redact, { id, type: of, meta }).meta, version)
    }
    jobs += page.length
    after = page.next
    await nextTurn()
  } while (after !== undefined && jobs < jobsMax)
  const { meta, versions } = tally
  return { now, jobs, more: after !== undefined, strip: stripOf(times, group.firstAt, now), meta, versions }
}

const hourMs = 3_600_000

/** From the first failure on, of the last two days at most. */
function stripOf(times: readonly number[], firstAt: number, now: number): FailureView['strip'] {
  const from = Math.max(firstAt, now - 48 * hourMs)
  const stepMs = Math.max(60_000, Math.ceil((now - from) / stripMax / 60_000) * 60_000)
  const length = Math.min(stripMax, Math.floor((now - from) / stepMs) + 1)
  const failed = Array.from({ length }, () => 0)
  for (const at of times) {
    const i = Math.floor((at - from) / stepMs)
    if (failed[i] !== undefined) failed[i]++
  }
  return { from, stepMs, failed }
}

type Counts<Value extends Scalar = Scalar> = Map<Value, number>

const count = <Value extends Scalar>(counts: Counts<Value>, value: Value): Counts<Value> =>
  counts.set(value, (counts.get(value) ?? 0) + 1)

/** Counts values. */
class Tally {
  private readonly byName = new Map<string, Counts>()
  private readonly byVersion: Counts<string> = new Map()

  add(meta: JobMeta, version: string | null): void {
    for (const [name, value] of Object.entries(meta)) {
      const isScalar = typeof value !== 'object' || value === null
      if (isScalar && value !== hidden) this.byName.set(name, count(this.byName.get(name) ?? new Map(), value))
    }
    if (version !== null) count(this.byVersion, version)
  }

  get meta(): FailureView['meta'] {
    const sum = (values: Counts): number => values.values().reduce((all, each) => all + each, 0)
    // Of what most jobs have, that with the fewest values comes first: it tells most.
    return [...this.byName]
      .toSorted(([, a], [, b]) => sum(b) - sum(a) || a.size - b.size)
      .slice(0, membersMax)
      .map(([name, values]) => ({
        name,
        values: shares(values).slice(0, valuesMax),
        others: Math.max(0, values.size - valuesMax),
      }))
  }

  get versions(): readonly Share<string>[] {
    return shares(this.byVersion).slice(0, valuesMax)
  }
}

const shares = <Value extends Scalar>(counts: Counts<Value>): readonly Share<Value>[] =>
  Array.from(counts, ([value, jobs]) => ({ value, jobs })).toSorted((a, b) => b.jobs - a.jobs)
