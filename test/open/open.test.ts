/** Stores by their addresses: `openStore`, and the option `store` of runtimes and clients. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, createRuntime, defineJob } from 'jobchart'
import { openStore } from 'jobchart/open'
import { postgresStore } from 'jobchart/postgres'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth } from '../harness/long-form.ts'
import { newFile } from '../support/new-file.ts'
import { plainEnvironment } from '../support/plain-environment.ts'
import { postgresOfFile, postgresTest } from '../support/postgres-server.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'
import { movingClock } from '../stores/moving-clock.ts'

const double = defineJob<number, number>({ type: 'double', run: async (n) => 2 * n })

function newPath(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

/** Runs a job on the store, and gives its output as a client of the same address sees it. */
async function ranOn(address: string): Promise<unknown> {
  await using runtime = createRuntime({ jobs: [double], store: address })
  await runtime.start()
  const job = await runtime.enqueue(double, 21, { id: 'a' })
  await job.result()
  const client = createClient({ store: openStore(address) })
  const [record] = await client.list()
  await client.close()
  return record?.output
}

test.each([(path: string) => path, (path: string) => `sqlite:${path}`])(
  'the path of a file is a SQLite store, which a runtime opens and a client finds again (%#)',
  async (addressOf) => {
    const path = newPath()
    expect(await ranOn(addressOf(path))).toBe(42)
    expect(existsSync(path)).toBe(true)
  },
)

const server = serverOfFile()
redisTest('redis:// is a Redis store, with a prefix of its own', async () => {
  const url = `redis://127.0.0.1:${server().port}`
  expect(await ranOn(`${url}?prefix=shop`)).toBe(42)
  const other = createClient({ store: `${url}?prefix=other` })
  expect((await other.counts()).done).toBe(0)
  await other.close()
})

const postgres = postgresOfFile()
postgresTest('postgres:// is a PostgreSQL store, with a schema of its own', async () => {
  const { url } = postgres()
  expect(await ranOn(`${url}?schema=shop&application_name=shop`)).toBe(42)
  const other = createClient({ store: `${url}?schema=other` })
  expect((await other.counts()).done).toBe(0)
  await other.close()
})

test('a store by its address has the methods of the store itself', () => {
  const methods = (store: object) =>
    Object.entries(store)
      .flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
      .toSorted()
  expect(methods(openStore('jobs.db'))).toEqual(methods(sqliteStore({ path: 'jobs.db' })))
  expect(methods(openStore('postgres://h'))).toEqual(methods(postgresStore({ url: 'postgres://h' })))
  expect(methods(openStore('redis://localhost'))).toEqual(methods(redisStore({ url: 'redis://localhost' })))
})

test('memory: is a store of this process', async () => {
  await using runtime = createRuntime({ jobs: [double], store: 'memory:' })
  await runtime.start()
  expect([await runtime.run(double, 21), runtime.store.name]).toEqual([42, 'memory'])
})

test('an address of no store is refused at once, and never repeated with its password', () => {
  const refusals = {
    'postgres:ada:secret': ['INVALID_OPTION', /is not an address of a PostgreSQL server/],
    'mysql://ada:secret@host/db': ['INVALID_OPTION', /an address such as jobs\.db/],
    'redis:ada:secret': ['INVALID_OPTION', /is not an address of a Redis server/],
    'redis://ada:secret@host/?db=3': ['INVALID_OPTION', /unknown parameter db/],
    'memory:jobs': ['INVALID_OPTION', /an address such as/],
    'sqlite:': ['INVALID_OPTION', /an address such as/],
    memory: ['INVALID_OPTION', /an address such as .* memory:/],
    postgres: ['INVALID_OPTION', /an address such as/],
    '': ['INVALID_OPTION', /text of 1 to/],
  } as const
  for (const [address, [code, message]] of Object.entries(refusals)) {
    for (const make of [
      () => openStore(address),
      () => createClient({ store: address }),
      () => createRuntime({ jobs: [], store: address }),
    ]) {
      expect(make, address).toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
      )
      expect(make, address).not.toThrow(/secret/)
    }
  }
  expect(() => createRuntime({ jobs: [], store: 'mysql://x' })).toThrow(/^store: /)
})

test('a store that is not open says so, and one whose folder is missing says that when it is opened', async () => {
  const store = openStore(join(newPath(), 'nowhere', 'jobs.db'))
  expect(() => store.claim({ now: 0 } as never)).toThrow('the sqlite store is not open')
  const client = createClient({ store })
  await expect(client.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await client.close()
})

test('nothing of a driver is loaded before the store is opened', () => {
  const program = `
    import { createClient } from 'jobchart'
    import { openStore } from 'jobchart/open'
    const loaded = () => process.moduleLoadList.includes('NativeModule sqlite')
    const client = createClient({ store: ${JSON.stringify(newPath())} })
    openStore('redis://localhost')
    openStore('postgres://localhost')
    const before = loaded()
    await client.counts()
    console.log(before, loaded())
    await client.close()`
  const args = ['--conditions=@jobchart/source', '--input-type=module', '--eval', program]
  const printed = execFileSync(process.execPath, args, { cwd: repositoryRoot, env: plainEnvironment, encoding: 'utf8' })
  expect(printed.trim()).toBe('false true')
})

storeConformance({
  name: 'a file by its address',
  test: everyNth(12, test),
  random: { sequences: 5 },
  create: async () => {
    const folder = temporaryFolder()
    const clock = movingClock()
    const store = openStore(await newFile(folder.path))
    await store.open({ clock })
    return {
      store,
      advance: (ms) => clock.advance(ms),
      async close() {
        await store.close()
        folder.remove()
      },
    }
  },
})
