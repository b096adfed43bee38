/** Claims: what was picked is sent to the store, and picked again later if that fails. */
import { Subject, tap } from 'rxjs'
import { expect, test, vi } from 'vitest'
import type { ClaimAnswer } from '../../src/store.ts'
import { claimPicks, type AnsweredClaim } from '../../src/worker/claim-picks.ts'
import type { Claim } from '../../src/worker/claims.ts'
import { claimedJob, marbles, workerParts } from '../support/marbles.ts'

const answer: ClaimAnswer = { jobs: [claimedJob('a')], shortfalls: [] }

function claiming(answers: readonly (ClaimAnswer | Promise<ClaimAnswer> | Error)[]) {
  const parts = workerParts({ slots: 3 })
  const health = { answered: vi.fn(), failed: vi.fn() }
  let calls = 0
  const claim = vi.fn(() => {
    const next = answers[calls++] ?? answer
    if (next instanceof Error) throw next
    return next
  })
  const pick = (): Claim => {
    parts.selector.wake('mail', 3)
    const picks = parts.selector.pick(3)
    if (picks === null) throw new Error('nothing to pick')
    return parts.claims.begin(picks)
  }
  const lostClaims = { answered: vi.fn(), failed: vi.fn() }
  const options = {
    ...parts,
    store: { claim },
    lostClaims,
    worker: 'w',
    registration: { startedAt: 5 },
    leaseMs: 1_000,
    health,
  }
  return { ...parts, health, claim, pick, stage: claimPicks({ ...options, time: { read: () => 100 } }) }
}

test('a claim demands what was picked; its lease counts from the call', () => {
  const { stage, pick, claim } = claiming([answer])
  const picked = pick()
  marbles(({ hot, expectObservable }) => {
    const answered = { claim: picked, answer, lease: { confirmedAt: 100, fenceAt: 1_000 } }
    expectObservable(hot('-c', { c: picked }).pipe(stage)).toBe('-a', { a: answered })
  })
  expect(claim).toHaveBeenCalledWith({
    worker: 'w',
    leaseMs: 1_000,
    token: expect.any(String),
    startedAt: 5,
    demand: [expect.objectContaining({ type: 'mail', max: 3 })],
  })
})

test('a claim that fails gives its permits back, is logged once, and claims rest until a nudge', async () => {
  const gone = new Error('gone')
  const { stage, pick, permits, claims, logger, health, clock, nudge, selector } = claiming([gone, gone, answer, gone])
  const claimed = (): void =>
    marbles(({ hot, expectObservable }) => {
      expectObservable(hot('-c', { c: pick() }).pipe(stage)).toBe('')
    })
  claimed()
  expect([permits.taken, claims.size, claims.mayBegin, selector.idle]).toEqual([0, 0, false, false])
  expect(health.failed).toHaveBeenCalledWith(gone)
  await clock.advance(100)
  expect([nudge.mock.calls.length, claims.mayBegin]).toEqual([1, true])
  claimed()
  expect(logger.error).toHaveBeenCalledTimes(1)
  // The second wait is longer.
  await clock.advance(150)
  expect(claims.mayBegin).toBe(false)
  await clock.advance(50)
  expect(claims.mayBegin).toBe(true)
  const answered = pick()
  marbles(({ hot }) => void hot('-c', { c: answered }).pipe(stage).subscribe())
  expect(health.answered).toHaveBeenCalledTimes(1)
  claims.admit(answered, { jobs: [], shortfalls: [] })
  claims.endStarted()
  claimed()
  expect(logger.error).toHaveBeenCalledTimes(2)
})

test.each([
  ['two claims', 100, true, ['first'], ['first', 'second']],
  ['claims that are not divided', 99, true, ['first', 'second'], ['first', 'second']],
  ['claims of a store that does it whole', 100, false, ['first', 'second'], ['first', 'second']],
])('of %s that are answered together', async (_which, slots, isDivided, atOnce, afterwards) => {
  const parts = workerParts({ slots, isDivided })
  const taken: string[] = []
  const turn = (): Promise<void> => new Promise((resolve) => parts.clock.nextTurn(resolve))
  for (const which of ['first', 'second']) parts.claims.take(() => taken.push(which))
  expect(taken).toEqual(atOnce)
  // The ends of the jobs of the first are written in this one.
  await turn()
  expect(taken).toEqual(atOnce)
  await turn()
  expect(taken).toEqual(afterwards)
  // One that comes later is taken at once.
  await turn()
  await turn()
  parts.claims.take(() => taken.push('third'))
  expect(taken.at(-1)).toBe('third')
})

test('a store may answer later', async () => {
  const { stage, pick } = claiming([Promise.resolve(answer)])
  const picked = new Subject<Claim>()
  const answers: AnsweredClaim[] = []
  picked
    .pipe(
      stage,
      tap((each) => answers.push(each)),
    )
    .subscribe()
  picked.next(pick())
  expect(answers).toEqual([])
  await Promise.resolve()
  expect(answers.map((each) => each.answer)).toEqual([answer])
})
