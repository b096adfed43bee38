/**
 * A process that writes rows together with jobs, in transactions of all libraries at random, and runs these jobs: each
 * writes its effect together with its end. It is killed at any instant.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createRuntime, defineJob } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { libraries, type Opened, type Tx } from './libraries.ts'

const [url = '', schema = '', name = '', transactions = '0'] = process.argv.slice(2)

const opened = new Map<string, Opened>()

/** A library at random, opened when it is first used. */
async function anyLibrary(): Promise<Opened> {
  const library = libraries[Math.floor(Math.random() * libraries.length)]
  if (library === undefined) throw new Error('no library')
  const known = opened.get(library.name) ?? (await library.open(url))
  opened.set(library.name, known)
  return known
}

class Undone extends Error {}

const chance = (of: number): boolean => Math.random() < of

const order = defineJob<{ id: string }, string>({
  type: 'order',
  retry: { maxAttempts: 1_000, backoff: () => 10 },
  async run({ id }, ctx) {
    const library = await anyLibrary()
    await library.transaction(async ({ tx, run }) => {
      await run(`INSERT INTO effects VALUES ('${id}')`)
      await ctx.complete(tx, id)
      if (chance(0.1)) throw new Undone()
      if (chance(0.02)) await delay(1_500)
    })
    // The commit counts.
    if (chance(0.1)) throw new Undone()
    return 'ignored'
  },
})

const runtime = createRuntime({
  jobs: [order],
  store: postgresStore({ url, schema }),
  name,
  lease: '1s',
  concurrency: 4,
  // All are compared with the rows.
  retention: { done: { age: '1d', count: 1_000_000 } },
  logger: {},
})

const add = async ({ tx, run }: Tx, id: string): Promise<void> => {
  await run(`INSERT INTO orders VALUES ('${id}')`)
  await runtime.enqueue(order, { id }, { tx, id })
}

async function buy(id: string): Promise<void> {
  const library = await anyLibrary()
  await library.transaction(async (tx) => {
    await add(tx, id)
    if (chance(0.3)) {
      const extra = tx.savepoint(async (inner) => {
        await add(inner, `${id}-extra`)
        if (chance(0.5)) throw new Undone()
      })
      await extra.catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error
      })
    }
    if (chance(0.2)) throw new Undone()
  })
}

await runtime.start({ retry: true })
process.send?.('ready')
let next = 0
const buyer = async (): Promise<void> => {
  while (next < Number(transactions)) {
    try {
      await buy(`${name}-${next++}`)
    } catch (error) {
      // A server that is away; what was rolled back on purpose is no reason to wait.
      if (!(error instanceof Undone)) await delay(50)
    }
  }
}
await Promise.all([buyer(), buyer(), buyer()])
process.send?.('done')
