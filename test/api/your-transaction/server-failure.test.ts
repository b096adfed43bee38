/**
 * A server that fails before a commit loses the transaction, and may give its id to another one, which commits: nobody
 * takes that for the first one.
 */
import { createRuntime, defineJob, type RunContext } from 'jobchart'
import { Client } from 'pg'
import { beforeAll, expect, onTestFinished } from 'vitest'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()

/** Its connection may end with the server. */
async function connected(): Promise<Client> {
  const client = new Client(server().url)
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  return client
}

const idIn = async (client: Client): Promise<bigint> => {
  const { rows } = await client.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
  return BigInt(rows[0]?.id ?? 0)
}

/** Opens a transaction and does something in it; then the server fails, and the id belongs to others that commit. */
async function loseTransaction(work: (tx: Client) => Promise<void>): Promise<void> {
  const tx = await connected()
  await tx.query('BEGIN')
  await work(tx)
  const lost = await idIn(tx)
  await server().kill()
  await server().start()
  const others = await connected()
  while ((await idIn(others)) <= lost);
}

let handler: (ctx: RunContext) => Promise<void>
const work = defineJob<void, unknown>({
  type: 'work',
  retry: { maxAttempts: 3, backoff: () => 0 },
  run: (_, ctx) => handler(ctx),
})

beforeAll(() => server().query('CREATE TABLE effects (attempt int)'))

test('a job whose end was lost with the server is not done', async () => {
  const add = (tx: Client, attempt: number) => tx.query('INSERT INTO effects VALUES ($1)', [attempt])
  handler = async (ctx) => {
    if (ctx.attempt === 1) {
      await loseTransaction(async (tx) => {
        await add(tx, 1)
        await ctx.complete(tx, 1)
      })
      throw new Error('there was no answer')
    }
    const tx = await connected()
    await tx.query('BEGIN')
    await add(tx, 2)
    await ctx.complete(tx, 2)
    await tx.query('COMMIT')
  }
  const runtime = createRuntime({ jobs: [work], store: postgresStore({ url: server().url }), logger: {} })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  const job = await runtime.enqueue(work)
  expect(await job.result()).toBe(2)
  expect(await server().query('SELECT attempt FROM effects')).toEqual([{ attempt: 2 }])
})

test('a job that was lost with the server is said to be rolled back', async () => {
  const runtime = createRuntime({ jobs: [work], store: postgresStore({ url: server().url }), logger: {} })
  onTestFinished(async () => void (await runtime.stop()))
  await runtime.counts()
  let stored: Promise<void> = Promise.resolve()
  await loseTransaction(async (tx) => {
    const job = await runtime.enqueue(work, undefined, { tx })
    stored = job.stored()
    stored.catch(() => {})
  })
  await expect(stored).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
})
