/**
 * A process that writes rows together with jobs in a database of its own, with either library, and runs these jobs:
 * each writes its effect together with its end. It is killed at any instant: `path library name transactions`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createRuntime, defineJob } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { sqliteLibraries } from '../../support/user-databases.ts'

const [path = '', libraryName = '', name = '', transactions = '0'] = process.argv.slice(2)

const library = sqliteLibraries.find((each) => each.name === libraryName)
if (library === undefined) throw new Error(`no library ${libraryName}`)
const own = library.open(path)
const tx = own.database

class Undone extends Error {}

const chance = (of: number): boolean => Math.random() < of

const isLocked = (error: unknown): boolean => /locked|busy/i.test(String(error))

/** Begins when no other process writes, and no other transaction of this one is open. */
async function begin(): Promise<void> {
  for (;;) {
    try {
      return own.exec('BEGIN IMMEDIATE')
    } catch (error) {
      if (!isLocked(error) && !/within a transaction/.test(String(error))) throw error
      await delay(1 + Math.random() * 4)
    }
  }
}

function rollBack(): void {
  try {
    own.exec('ROLLBACK')
  } catch (error) {
    // The store has rolled it back, because a lease was lost.
    if (!/no transaction is active/.test(String(error))) throw error
  }
}

/** A transaction that is open for a while, or for no turn of the event loop. */
async function transaction(work: () => Promise<void> | void): Promise<void> {
  await begin()
  try {
    const working = work()
    if (working !== undefined) await working
    own.exec('COMMIT')
  } catch (error) {
    rollBack()
    throw error
  }
}

const order = defineJob<{ id: string }, string>({
  type: 'order',
  retry: { maxAttempts: 1_000, backoff: () => 10 },
  async run({ id }, ctx) {
    const isSynchronous = chance(0.5)
    await transaction(
      isSynchronous
        ? () => {
            own.exec(`INSERT INTO effects VALUES ('${id}')`)
            ctx.within(tx).complete(id)
            if (chance(0.1)) throw new Undone()
          }
        : async () => {
            own.exec(`INSERT INTO effects VALUES ('${id}')`)
            if (chance(0.05)) await delay(20)
            await ctx.complete(tx, id)
            if (chance(0.1)) throw new Undone()
            // Longer than the lease.
            if (chance(0.01)) await delay(1_500)
          },
    )
    // The commit counts.
    if (chance(0.1)) throw new Undone()
    return 'ignored'
  },
})

const runtime = createRuntime({
  jobs: [order],
  store: sqliteStore({ database: tx }),
  name,
  lease: '1s',
  concurrency: 4,
  logger: {},
})

async function add(id: string): Promise<void> {
  own.exec(`INSERT INTO orders VALUES ('${id}')`)
  if (chance(0.5)) runtime.within(tx).enqueue(order, { id }, { id })
  else await runtime.enqueue(order, { id }, { tx, id })
}

const buy = (id: string): Promise<void> =>
  transaction(async () => {
    await add(id)
    if (chance(0.3)) {
      own.exec('SAVEPOINT here')
      await add(`${id}-extra`)
      if (chance(0.5)) own.exec('ROLLBACK TO here')
      own.exec('RELEASE here')
    }
    if (chance(0.2)) throw new Undone()
  })

await runtime.start()
process.send?.('ready')
for (let next = 0; next < Number(transactions); next++) {
  try {
    await buy(`${name}-${next}`)
  } catch (error) {
    if (!(error instanceof Undone) && !isLocked(error)) throw error
  }
  // The store works between transactions.
  if (next % 10 === 9) await new Promise(setImmediate)
}
process.send?.('done')
