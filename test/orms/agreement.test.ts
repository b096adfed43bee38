/**
 * Rows and jobs agree exactly: processes write both in transactions of all libraries, roll back at random, are killed
 * at random, and the server with them. Each job writes its effect together with its end: once.
 */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { forkProgram } from '../harness/processes.ts'
import { postgresOfFile, postgresTest } from '../support/postgres-server.ts'
import { missingLibraries } from './install.ts'

const server = postgresOfFile('fsync=on', 'max_connections=300')
const test = missingLibraries().length === 0 ? postgresTest : postgresTest.skip

const shoppers = 2
const perShopper = isLong ? 1_000 : 60
/** Each shopper is killed so often before one may end. */
const lives = isLong ? 5 : 2
const restarts = isLong ? 5 : 0

/** Of the test and of its waits, ms. */
const limits = { timeout: isLong ? 3_600_000 : 300_000, interval: 200 }

const ids = async (table: string): Promise<string[]> =>
  (await server().query(`SELECT id FROM ${table} ORDER BY id COLLATE "C"`)).map(({ id }) => String(id))

async function shop(name: string): Promise<void> {
  for (let life = 1; ; life++) {
    const args = [server().url, 'shop', `${name}-${life}`, String(perShopper)]
    const child = forkProgram(new URL('shopper.ts', import.meta.url), args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    const exited = once(child, 'exit')
    if (life < lives) await delay(300 + Math.random() * 3_000)
    else await once(child, 'message')
    if (life === lives) await untilAllHaveEnded()
    child.kill('SIGKILL')
    await exited
    if (life === lives) return
  }
}

/** Its backends may outlive a killed server for a moment, and hold its memory: then another one does not start. */
async function restart(): Promise<void> {
  await server().kill()
  for (let tries = 1; ; tries++) {
    try {
      return await server().start()
    } catch (error) {
      if (tries === 100) throw error
      await delay(100)
    }
  }
}

const untilAllHaveEnded = (): Promise<void> =>
  expect
    .poll(async () => {
      const [row] = await server().query(`SELECT
        (SELECT count(*)::int FROM shop.cells WHERE kind IN ('intents', 'fences')) + (SELECT count(*)::int FROM shop.jobs WHERE state <> 'done') AS open`)
      return row?.['open']
    }, limits)
    .toBe(0)

test(
  `${shoppers * perShopper * lives} transactions: rows and jobs agree, and each effect is there once`,
  limits,
  async () => {
    await server().query('CREATE TABLE orders (id text); CREATE TABLE effects (id text)')
    const shopping = Promise.all(Array.from({ length: shoppers }, (_, i) => shop(`shopper-${i}`)))
    for (let i = 0; i < restarts; i++) {
      await delay(4_000)
      await restart()
    }
    await shopping
    const orders = await ids('orders')
    expect(orders.length).toBeGreaterThan(perShopper / 2)
    expect(await ids('shop.jobs')).toEqual(orders)
    expect(await ids('effects')).toEqual(orders)
  },
)
