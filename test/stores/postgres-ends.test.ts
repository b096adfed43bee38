/** Ends of jobs on PostgreSQL are told to other processes while one of them waits for ends. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { createClient, createRuntime, defineJob, type Clock } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { systemClock } from '../../src/core/clock.ts'
import { lease, newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { Hint, Store } from '../../src/store.ts'
import { postgresOfFile, postgresTest as test } from '../support/postgres-server.ts'

const server = postgresOfFile()

/** A process, as far as others see it. */
class Party {
  readonly store: Store
  readonly heard: Hint[] = []

  private constructor(store: Store) {
    this.store = store
  }

  static async of(schema: string): Promise<Party> {
    const party = new Party(postgresStore({ url: server().url, schema }))
    await party.store.open({ clock: systemClock })
    onTestFinished(() => party.store.close())
    onTestFinished(party.store.watch((hint) => void party.heard.push(hint)))
    return party
  }

  /** Resolves when it listens. */
  async hears({ store }: Party): Promise<void> {
    const type = randomUUID()
    const isHeard = (): boolean => this.heard.some((hint) => hint.kind === 'ready' && hint.type === type)
    while (!isHeard()) await put(store, newJob(randomUUID(), { type }))
  }

  async ends(id: string): Promise<void> {
    await put(this.store, newJob(id))
    const [job] = await take(this.store)
    if (job === undefined) throw new Error('no job was claimed')
    await this.store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  }

  endsHeard(): unknown[] {
    return this.heard.flatMap((hint) => (hint.kind === 'ended' ? (hint.ids ?? ['?']) : []))
  }
}

test('a process hears of ends of others only once it waits for one, and of those who come later', async () => {
  const schema = `s_${randomUUID().slice(0, 8)}`
  const [here, there] = [await Party.of(schema), await Party.of(schema)]
  await here.hears(there)
  await there.hears(here)
  await there.ends('first')
  // What was told before it has arrived with it.
  await there.store.queue('mail', { paused: true })
  await expect.poll(() => here.heard.map(({ kind }) => kind)).toContain('queue')
  await there.store.queue('mail', { paused: false })
  expect(here.endsHeard()).toEqual([])
  here.store.watchEnds?.()
  // It looks for what ended before.
  await expect.poll(() => here.endsHeard()).toEqual(['?'])
  await there.ends('second')
  await expect.poll(() => here.endsHeard()).toEqual(['?', 'second'])
  const late = await Party.of(schema)
  await late.hears(there)
  let last = 0
  for (; !here.endsHeard().includes(`late ${last}`); await here.store.counts()) await late.ends(`late ${++last}`)
  await late.ends('third')
  await expect.poll(() => here.endsHeard()).toContain('third')
})

/** Of a client that is told by hints alone which jobs have ended: what it asks for each second is never asked. */
const withoutPolls: Clock = {
  ...systemClock,
  timer: (run, ms, options) => (ms < 1_000 ? systemClock.timer(run, ms, options) : { cancel: () => {} }),
}

test('a client that never polls gets each result', async () => {
  const schema = `s_${randomUUID().slice(0, 8)}`
  const echo = defineJob<number, number>({ type: 'echo', run: (n) => n })
  const open = (): Store => postgresStore({ url: server().url, schema })
  const runtime = createRuntime({ jobs: [echo], store: open(), concurrency: 3 })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  const client = createClient({ jobs: [echo], store: open(), clock: withoutPolls })
  onTestFinished(() => client.close())
  for (let round = 0; round < 40; round++) {
    const handles = await Promise.all([1, 2, 3, 4, 5].map((n) => client.enqueue(echo, n)))
    const signal = AbortSignal.timeout(30_000)
    expect(await Promise.all(handles.map((handle) => handle.result({ signal })))).toEqual([1, 2, 3, 4, 5])
  }
})
