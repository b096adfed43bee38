/** Calls in the user's own transaction on SQLite: `client.within(tx)` and `{ tx }`. */
import {
  createClient,
  createRuntime,
  defineJob,
  memoryStore,
  type ClosableClient,
  type JobHandle,
  type SynchronousTransaction,
} from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { inFolder, sqliteLibraries, type UserDatabaseOfTest } from '../../support/user-databases.ts'

const echo = defineJob<unknown, unknown>({ type: 'echo', run: (input) => input })
const narrow = defineJob({ type: 'narrow', capacity: 1, run: () => {} })
const handedOver = defineJob({ type: 'handed over', capacity: 0, run: () => {} })
const checked = (isValid: (value: unknown) => boolean, isLate: boolean) =>
  ({
    '~standard': {
      version: 1,
      vendor: 'test',
      validate(value: unknown) {
        const result = isValid(value) ? { value } : { issues: [{ message: 'not valid' }] }
        return isLate ? Promise.resolve(result) : result
      },
    },
  }) as const
const number = (value: unknown): boolean => typeof value === 'number'
const strict = defineJob({ type: 'strict', input: checked(number, false), run: () => {} })
const late = defineJob({ type: 'late', input: checked(number, true), run: () => {} })
const door = setup({ types: { events: {} as { type: 'OPEN' } } }).createMachine({
  initial: 'closed',
  states: { closed: { on: { OPEN: 'open' } }, open: { type: 'final' } },
})
const doors = defineJob({ type: 'door', machine: door })
const jobs = [echo, narrow, handedOver, strict, late, doors]

describe.each(sqliteLibraries)('on $name', ({ open }) => {
  let folder: ReturnType<typeof temporaryFolder>
  let own: UserDatabaseOfTest
  let client: ClosableClient
  let tx: SynchronousTransaction

  beforeEach(() => {
    folder = temporaryFolder()
    own = open(inFolder(folder.path))
    own.exec('CREATE TABLE orders (id TEXT)')
    tx = own.database
    const logger = { warn: () => {}, error: () => {} }
    client = createClient({ jobs, store: sqliteStore({ database: own.database }), logger })
  })

  afterEach(async () => {
    await client.close()
    own.close()
    folder.remove()
  })

  /** Commits, or rolls back if `work` throws. */
  function inTransaction<T>(work: () => T, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT'): T {
    own.exec('BEGIN IMMEDIATE')
    try {
      own.exec("INSERT INTO orders VALUES ('1')")
      const answer = work()
      own.exec(end)
      return answer
    } catch (error) {
      own.exec('ROLLBACK')
      throw error
    }
  }

  const orders = (): number => own.rows('SELECT 1 FROM orders').length
  const left = (): unknown[][] => own.rows('SELECT number FROM jobchart_intents')

  test('a job is there after the commit, whoever looks, and runs', async () => {
    const job = inTransaction(() => client.within(tx).enqueue(echo, { a: 1 }, { tags: ['x'] }))
    expect(await client.job(job.id)).not.toBeNull()
    await job.stored()
    expect(job.outcome).toBe('inserted')
    expect((await job.record()).tags).toEqual(['x'])
    expect([orders(), left()]).toEqual([1, []])
    const runtime = createRuntime({ jobs, store: client.store })
    await runtime.start()
    expect(await job.result()).toEqual({ a: 1 })
    await runtime.stop()
  })

  test('what is rolled back leaves nothing, also by a savepoint', async () => {
    const gone = inTransaction(() => client.within(tx).enqueue(echo, 1), 'ROLLBACK')
    await expect(gone.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
    await expect(gone.result()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
    const [kept, undone, last] = inTransaction(() => {
      const first = client.within(tx).enqueue(echo, 1)
      own.exec('SAVEPOINT here')
      const second = client.within(tx).enqueue(echo, 2)
      own.exec('ROLLBACK TO here; RELEASE here')
      return [first, second, client.within(tx).enqueue(echo, 3)]
    }) as [JobHandle, JobHandle, JobHandle]
    await expect(undone.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
    await Promise.all([kept.stored(), last.stored()])
    expect((await client.counts()).queued).toBe(2)
    expect(left()).toEqual([])
  })

  test('a call with { tx } is the same, and waits for nothing', async () => {
    await client.counts()
    own.exec('BEGIN IMMEDIATE')
    const job = await client.enqueue(echo, 1, { tx })
    const narrowed = await client.tryEnqueue(narrow, undefined, { tx })
    await client.send(doors, job.id, { type: 'OPEN' }, { tx })
    own.exec('COMMIT')
    await Promise.all([job.stored(), narrowed?.stored()])
    expect((await client.counts()).queued).toBe(2)
  })

  test('events, cancels and schedules are carried out in order', async () => {
    const queued = await client.enqueue(echo, 0)
    const [opened, cancelled] = inTransaction(() => {
      const within = client.within(tx)
      const machine = within.enqueue(doors)
      within.send(doors, machine.id, { type: 'OPEN' })
      const many = within.enqueueMany(echo, [1, 2, 3])
      within.cancel([queued.id, many[0]!.id], { reason: 'no' })
      within.schedule('nightly', '@daily', echo, 5)
      return [machine, many[0]!]
    })
    await Promise.all([opened.stored(), cancelled.stored()])
    expect([(await queued.record()).state, (await cancelled.record()).state]).toEqual(['cancelled', 'cancelled'])
    expect((await opened.record()).lastMessageNumber).toBe(1)
    expect((await client.schedules()).map(({ name }) => name)).toEqual(['nightly'])
    inTransaction(() => client.within(tx).removeSchedule('nightly'))
    expect(await client.schedules()).toEqual([])
    expect((await client.counts()).queued).toBe(3)
  })

  test('what happens to other jobs is an event of this process, whatever carries it out', async () => {
    const queued = await client.enqueue(echo, 0)
    const events: string[] = []
    client.events$.subscribe(({ event }) => events.push(event))
    inTransaction(() => client.within(tx).cancel(queued.id))
    expect((await client.counts()).cancelled).toBe(1)
    await expect.poll(() => events).toEqual(['CANCEL'])
  })

  test('a unique key and an id are decided after the commit', async () => {
    const first = await client.enqueue(echo, 1, { unique: { key: 'k' } })
    const second = inTransaction(() => client.within(tx).enqueue(echo, 2, { unique: { key: 'k' } }))
    await second.stored()
    expect([second.id, second.outcome]).toEqual([first.id, 'kept'])
    const other = inTransaction(() => client.within(tx).enqueueByName('other', 1, { id: first.id }))
    await expect(other.stored()).rejects.toMatchObject({ code: 'ID_TAKEN' })
  })

  test('what is refused is refused at once, and rolls back', async () => {
    await client.enqueue(narrow)
    const codeOf = (work: () => unknown): unknown => {
      try {
        return inTransaction(work)
      } catch (error) {
        return (error as { readonly code: unknown }).code
      }
    }
    const within = client.within(tx)
    expect(codeOf(() => within.enqueue(narrow))).toBe('CAPACITY')
    expect(inTransaction(() => within.tryEnqueue(narrow), 'ROLLBACK')).toBeNull()
    expect(codeOf(() => within.enqueueMany(narrow, [undefined, undefined]))).toBe('CAPACITY')
    expect(codeOf(() => within.enqueue(handedOver))).toBe('INVALID_OPTION')
    expect(codeOf(() => within.enqueue(strict, 'text'))).toBe('INVALID_INPUT')
    expect(codeOf(() => within.enqueue(late, 1))).toBe('UNSUPPORTED')
    expect(() => inTransaction(() => within.enqueueMany(strict, [1, 'text']))).toThrow(/^inputs\[1\]: /)
    expect(codeOf(() => within.enqueue(defineJob({ type: 'other', run: () => {} })))).toBe('UNKNOWN_TYPE')
    expect(codeOf(() => within.enqueue(echo, 1, { tx } as object))).toBe('INVALID_OPTION')
    expect(codeOf(() => within.cancel({ type: 'echo' } as unknown as string))).toBe('INVALID_OPTION')
    expect(codeOf(() => within.send('id', { type: 'job.cancel' }))).toBe('NOT_ACCEPTED')
    const closed = createClient({ jobs, store: client.store })
    await closed.close()
    expect(codeOf(() => closed.within(tx).enqueue(echo, 1))).toBe('STOPPED')
    expect(orders()).toBe(0)
    inTransaction(() => within.enqueue(strict, 7))
    expect((await client.counts()).types['strict']?.queued).toBe(1)
  })

  test('a backlog limit counts what the transaction has enqueued before', async () => {
    const bounded = createClient({ jobs, store: client.store, capacity: 2 })
    onTestFinished(() => bounded.close())
    const within = bounded.within(tx)
    inTransaction(() => {
      within.enqueue(narrow)
      expect(within.tryEnqueue(narrow)).toBeNull()
      own.exec('SAVEPOINT a')
      within.enqueueByName('other')
      expect(() => within.enqueue(echo, 1)).toThrow('no room')
      own.exec('ROLLBACK TO a')
      within.enqueue(echo, 1, { unique: { key: 'k' } })
    }, 'ROLLBACK')
    // Not carried out yet: the store has had no turn.
    inTransaction(() => within.enqueue(narrow))
    expect(inTransaction(() => within.tryEnqueue(narrow))).toBeNull()
    await bounded.cancel({ type: 'narrow' })
    inTransaction(() => within.enqueue(narrow))
    expect((await client.counts()).types['narrow']).toMatchObject({ queued: 1, cancelled: 1 })
  })

  test('a transaction that is not open, or on another connection, is refused', async () => {
    const codeOf = (work: () => unknown): unknown => {
      try {
        return work()
      } catch (error) {
        return (error as { readonly code: unknown }).code
      }
    }
    expect(codeOf(() => client.within(tx).enqueue(echo, 1))).toBe('TX_NOT_OPEN')
    await expect(client.enqueue(echo, 1, { tx })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
    const last = await client.enqueue(narrow)
    expect(codeOf(() => client.within(tx).tryEnqueue(narrow))).toBe('TX_NOT_OPEN')
    await expect(client.tryEnqueue(narrow, undefined, { tx })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
    await last.cancel()
    const other = open(inFolder(folder.path))
    onTestFinished(() => other.close())
    other.exec('BEGIN')
    expect(codeOf(() => client.within(other.database).enqueue(echo, 1))).toBe('TX_OTHER_DATABASE')
    expect(codeOf(() => client.within({} as never).enqueue(echo, 1))).toBe('TX_NOT_OPEN')
    const plain = createClient({ jobs, store: memoryStore() })
    onTestFinished(() => plain.close())
    inTransaction(() => {
      expect(codeOf(() => plain.within(tx).enqueue(echo, 1))).toBe('UNSUPPORTED')
      expect(codeOf(() => plain.within(tx).cancel('id'))).toBe('UNSUPPORTED')
    })
    await expect(plain.enqueue(echo, 1, { tx })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
    expect((await client.counts()).queued).toBe(0)
  })

  test('writes of the store wait for an open transaction, and are not part of it', async () => {
    await client.counts()
    own.exec('BEGIN')
    own.exec("INSERT INTO orders VALUES ('2')")
    const job = client.enqueue(echo, 1)
    // Several turns of the event loop, and repeats of the store, later nothing was written.
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    expect(own.rows('SELECT 1 FROM jobchart_jobs')).toEqual([])
    own.exec('ROLLBACK')
    await job
    expect([orders(), (await client.counts()).queued]).toEqual([0, 1])
  })

  test('many calls in one turn are carried out, each once', async () => {
    const count = 1_000
    const handles = Array.from({ length: count }, (_, i) =>
      inTransaction(() => client.within(tx).enqueue(echo, i), i % 2 === 0 ? 'COMMIT' : 'ROLLBACK'),
    )
    const fates = await Promise.allSettled(handles.map((handle) => handle.stored()))
    expect(fates.filter(({ status }) => status === 'fulfilled')).toHaveLength(count / 2)
    expect([orders(), (await client.counts()).queued, left()]).toEqual([count / 2, count / 2, []])
  })
})
