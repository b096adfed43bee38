/** A durable promise outside of a job: in an actor of the user's own. */
import { constant, durable, JobchartError } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import { createActor, toPromise, type AnyActorLogic, type Snapshot } from 'xstate'
import { expect, test } from 'vitest'

const retry = { maxAttempts: 3, backoff: constant('1m') }

/** A clock for XState on virtual time. */
function clocks() {
  const clock = new VirtualClock()
  const xstate = {
    setTimeout: (run: () => void, ms: number) => clock.timer(run, ms, { keepAlive: true }),
    clearTimeout: (timer: ReturnType<VirtualClock['timer']> | undefined) => timer?.cancel(),
  } as never
  return { clock, xstate }
}

const begin = (logic: AnyActorLogic, clock: never, options: { input?: unknown; snapshot?: Snapshot<unknown> } = {}) => {
  const actor = createActor(logic, { clock, ...options } as never)
  actor.subscribe({ error: () => {} })
  return actor.start()
}

test('it retries on the clock of its actor system, and keeps finished steps', async () => {
  const { clock, xstate } = clocks()
  const ran: unknown[] = []
  const logic = durable<string, number>(
    async ({ input, attempt, step }) => {
      const sum = await step('sum', () => {
        ran.push('sum')
        return input + 1
      })
      ran.push([attempt, clock.now()])
      if (attempt < 3) throw new Error(`no ${attempt}`)
      return `${sum}`
    },
    { retry },
  )
  const start = clock.now()
  const actor = begin(logic, xstate, { input: 1 })
  const snapshots: unknown[] = []
  actor.subscribe((snapshot) => snapshots.push(snapshot.attempt))
  await clock.advance('2m')
  expect(await toPromise(actor)).toBe('2')
  expect(ran).toEqual(['sum', [1, start], [2, start + 60_000], [3, start + 120_000]])
  const error = (n: number) => ({ name: 'Error', message: `no ${n}` })
  expect(snapshots.slice(0, 4)).toEqual([
    { number: 1, error: error(1), delayMs: 60_000 },
    { number: 2, error: error(1), delayMs: null },
    { number: 2, error: error(2), delayMs: 60_000 },
    { number: 3, error: error(2), delayMs: null },
  ])
  expect(clock.pending).toBe(0)
})

test('what an attempt makes of the result of a step changes it for no other', async () => {
  const { clock, xstate } = clocks()
  const seen: unknown[] = []
  const logic = durable(
    async ({ step }) => {
      const list = await step('list', () => [0])
      seen.push([...list])
      list.push(1)
      throw new Error('no')
    },
    { retry },
  )
  begin(logic, xstate)
  await clock.advance('2m')
  expect(seen).toEqual([[0], [0], [0]])
})

test('what an attempt still says after its timeout is not heard', async () => {
  const { clock, xstate } = clocks()
  const logic = durable(
    async ({ attempt }) => {
      await clock.sleep(attempt === 1 ? '75s' : '9s')
      return attempt
    },
    { retry, attemptTimeout: '10s' },
  )
  const actor = begin(logic, xstate)
  await clock.advance('2m')
  expect(await toPromise(actor)).toBe(2)
})

test('a step whose result is no JSON fails as in a job', async () => {
  const { xstate } = clocks()
  const actor = begin(
    durable(async ({ step }) => step('a', () => new Set()), { retry: { maxAttempts: 1 } }),
    xstate,
  )
  await expect(toPromise(actor)).rejects.toMatchObject({ code: 'INVALID_OUTPUT' })
})

test('a timeout ends an attempt, and one that is stopped sets no timer', async () => {
  const { clock, xstate } = clocks()
  const reasons: unknown[] = []
  const logic = durable(
    async ({ signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason))
      await clock.sleep('1h', signal)
    },
    { retry, attemptTimeout: '10s' },
  )
  const actor = begin(logic, xstate)
  await clock.advance('10s')
  expect(actor.getSnapshot()).toMatchObject({ attempt: { number: 1, error: { code: 'TIMEOUT' }, delayMs: 60_000 } })
  await clock.advance('1m')
  actor.stop()
  await clock.advance(0)
  expect(reasons).toMatchObject([{ code: 'TIMEOUT' }, { name: 'AbortError' }])
  expect(clock.pending).toBe(0)
})

test('what waits and was persisted waits again when it is restored; what was under way begins again', async () => {
  const { clock, xstate } = clocks()
  const tries: number[] = []
  const logic = durable<number>(
    async ({ attempt }) => {
      tries.push(attempt)
      if (attempt < 2) throw new Error('no')
      await clock.sleep('1s')
      return attempt
    },
    { retry },
  )
  const waiting = begin(logic, xstate)
  await clock.advance('30s')
  const kept = JSON.parse(JSON.stringify(waiting.getPersistedSnapshot())) as Snapshot<unknown>
  waiting.stop()
  const again = begin(logic, xstate, { snapshot: kept })
  await clock.advance('60s')
  const underWay = JSON.parse(JSON.stringify(again.getPersistedSnapshot())) as Snapshot<unknown>
  again.stop()
  const last = begin(logic, xstate, { snapshot: underWay })
  await clock.advance('1s')
  expect(await toPromise(last)).toBe(2)
  expect(tries).toEqual([1, 2, 2])
  expect(clock.pending).toBe(0)
})

test.each<[what: string, make: () => unknown, message: string]>([
  [
    'a promise logic',
    () => durable({ transition() {} } as never),
    'work of durable: expected a function, got an object',
  ],
  [
    'an unknown option',
    () => durable(async () => 1, { retries: 3 } as never),
    'options of durable: expected one of retry, attemptTimeout, timeout, got "retries"',
  ],
  ['no attempt', () => durable(async () => 1, { retry: { maxAttempts: 0 } }), 'retry.maxAttempts of durable'],
  ['an async retryIf', () => durable(async () => 1, { retry: { retryIf: (async () => true) as never } }), 'not async'],
  ['no duration', () => durable(async () => 1, { attemptTimeout: 'soon' as never }), 'attemptTimeout of durable'],
])('%s is refused', (_, make, message) => {
  expect(make).toThrow(JobchartError)
  expect(make).toThrow(message)
})

test.each<[what: string, options: object, delayMs: number | null, said: string]>([
  ['a retryIf that throws', { retryIf: () => boom() }, 60_000, 'retryIf threw boom'],
  [
    'a retryIf that gives a promise',
    { retryIf: () => Promise.reject(new Error('x')) },
    60_000,
    'retryIf returned a promise',
  ],
  ['a retryIf that gives nothing', { retryIf: () => undefined }, null, ''],
  ['a backoff that throws', { backoff: () => boom() }, 1_000, 'the backoff function threw boom'],
])('%s', async (_, options, delayMs, said) => {
  const { clock, xstate } = clocks()
  const lines: string[] = []
  const logic = durable(() => Promise.reject(new Error('no')), { retry: { ...retry, ...options } as never })
  const actor = createActor(logic, { clock: xstate, logger: (line: string) => lines.push(line) })
  actor.subscribe({ error: () => {} })
  actor.start()
  await clock.advance(0)
  const { status, attempt } = actor.getSnapshot() as unknown as { status: string; attempt: { delayMs: number | null } }
  if (delayMs === null) expect(status).toBe('error')
  else expect(attempt.delayMs).toBeLessThanOrEqual(delayMs)
  expect(lines.join()).toContain(said)
  actor.stop()
})

function boom(): never {
  throw new Error('boom')
}
