/**
 * Rows and jobs agree exactly: processes write both in transactions of all libraries, roll back at random, are killed
 * at random, and the server with them. Each job writes its effect together with its end: once.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { forkProgram } from '../harness/processes.ts'
import { postgresOfFile, postgresTest } from '../support/postgres-server.ts'
import { missingLibraries } from './install.ts'

const server = postgresOfFile('fsync=on', 'max_connections=300')
const test = missingLibraries().length === 0 ? postgresTest : postgresTest.skip

const shoppers = 2
/** Transactions of each shopper in its last life. */
const perShopper = isLong ? 5_000 : 60
/** Each shopper is killed so often, at any instant, before its last life. */
const kills = isLong ? 20 : 1
const restarts = isLong ? 10 : 0

/** Of the test and of its waits, ms. */
const limits = { timeout: isLong ? 3_600_000 : 300_000, interval: 200 }

const ids = async (table: string): Promise<string[]> =>
  (await server().query(`SELECT id FROM ${table} ORDER BY id COLLATE "C"`)).map(({ id }) => String(id))

const children = new Set<ChildProcess>()
afterAll(() => children.forEach((child) => child.kill('SIGKILL')))

/** @returns false if it has died before: postgres.js throws in no one's call when it writes to a server that is gone */
async function live(name: string, work: (child: ChildProcess) => Promise<unknown>): Promise<boolean> {
  const args = [server().url, 'shop', name, String(perShopper)]
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
  const child = forkProgram(new URL('shopper.ts', import.meta.url), args, { stdio: [...stdio] })
  children.add(child)
  const exited = once(child, 'exit')
  const worked = once(child, 'message').then(() => work(child))
  const survived = await Promise.race([worked.then(() => true), exited.then(() => false)])
  child.kill('SIGKILL')
  await exited
  children.delete(child)
  return survived
}

async function shop(name: string): Promise<void> {
  for (let life = 1; life <= kills; life++) await live(`${name}-${life}`, () => delay(300 + Math.random() * 3_000))
  const lastLife = async (child: ChildProcess): Promise<void> => {
    await once(child, 'message')
    await untilAllHaveEnded()
  }
  for (let life = 1; !(await live(`${name}-last-${life}`, lastLife)); life++);
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
        (SELECT count(*)::int FROM shop.cells WHERE kind IN ('intents', 'fences')) + (SELECT count(*)::int FROM shop.standing WHERE state <> 'done') AS open`)
      return row?.['open']
    }, limits)
    .toBe(0)

test(
  `${shoppers * perShopper} transactions and more: rows and jobs agree, and each effect is there once`,
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
