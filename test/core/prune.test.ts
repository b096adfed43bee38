/** Which ended jobs a prune removes, and how many it reads for that. */
import { expect, test } from 'vitest'
import { prune, type EndedState, type PruneUnit } from '../../src/core/prune.ts'
import { goesAt, type RetentionBounds } from '../../src/core/retention.ts'
import type { RetentionPolicy } from '../../src/core/values.ts'

interface Ended {
  readonly id: number
  readonly finishedAt: number
}

/** A store of one type, all of whose jobs are done. */
class Jobs implements PruneUnit<Ended> {
  readonly now: number
  readonly jobs: Ended[]
  readonly sizes: number[] = []
  nextLookAt = Infinity
  private readonly policy: RetentionPolicy

  constructor(endedAt: readonly number[], bounds: RetentionBounds, now: number) {
    this.jobs = endedAt.map((finishedAt, id) => ({ id, finishedAt }))
    this.policy = { done: bounds, dead: bounds, cancelled: bounds }
    this.now = now
  }

  typesToPrune = (): readonly string[] => ['mail']
  retentionOf = (): RetentionPolicy => this.policy
  endedCount = (_: string, state: EndedState): number => (state === 'done' ? this.jobs.length : 0)

  firstEnded(_: string, __: EndedState, limit: number): readonly Ended[] {
    this.sizes.push(limit)
    return this.jobs.slice(0, limit)
  }

  removeEnded(jobs: readonly Ended[]): void {
    this.jobs.splice(0, jobs.length)
  }

  lookAgain(_: string, at: number): void {
    this.nextLookAt = at
  }
}

const second = 1_000
const bounds = { ageMs: 3_600 * second, count: 10, minAgeMs: 60 * second, countMax: 15 }

test('of jobs that are too many, a prune reads those and one more', () => {
  const young = new Jobs(Array<number>(18).fill(0), bounds, 30 * second)
  expect(prune(young, 500)).toEqual({ pruned: 3, nextAt: 60 * second, more: false })
  expect([young.jobs.length, young.sizes]).toEqual([15, [1, 4]])
  const old = new Jobs(Array<number>(18).fill(0), bounds, 61 * second)
  expect(prune(old, 500)).toMatchObject({ pruned: 8, nextAt: 3_600 * second })
  expect(old.sizes).toEqual([1, 9])
})

test('of jobs that are too old, it reads as many as it may remove', () => {
  const jobs = new Jobs([0, 1, 2, 9_999 * second], bounds, 3_600 * second + 1)
  expect(prune(jobs, 500)).toMatchObject({ pruned: 2, nextAt: 3_600 * second + 2 })
  expect(jobs.sizes).toEqual([1, 5])
  const many = new Jobs(Array<number>(18).fill(0), bounds, 3_600 * second)
  expect(prune(many, 7)).toEqual({ pruned: 7, nextAt: null, more: true })
})

test('it removes what a look at each job would, whatever the bounds', () => {
  let seed = 1
  const upTo = (max: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % (max + 1)
  }
  for (let round = 0; round < 3_000; round++) {
    const [ageMs, count, minAgeMs, more, now] = [upTo(20), upTo(8), upTo(12), upTo(9), upTo(30)]
    const endedAt = Array.from({ length: upTo(16) }, () => upTo(25)).toSorted((a, b) => a - b)
    const chosen: RetentionBounds = { ageMs, count, minAgeMs, ...(more < 8 && { countMax: count + more }) }
    let gone = 0
    while (gone < endedAt.length && goesAt(chosen, endedAt.length - gone, endedAt[gone] ?? 0) <= now) gone++
    const jobs = new Jobs(endedAt, chosen, now)
    expect([prune(jobs, 1_000).pruned, round]).toEqual([gone, round])
    const next = gone < endedAt.length ? goesAt(chosen, endedAt.length - gone, endedAt[gone] ?? 0) : Infinity
    expect([jobs.nextLookAt, round]).toEqual([next, round])
  }
})
