/**
 * Rows and jobs of a database of the user agree exactly: processes with either library write both in transactions, roll
 * back at random, also to savepoints, and are killed at random. Each job writes its effect together with its end: once.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { forkProgram } from '../harness/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { inFolder, sqliteLibraries } from '../support/user-databases.ts'

/** Transactions of each process in its last life. */
const perProcess = isLong ? 5_000 : 60
/** Each process is killed so often, at any instant, before its last life. */
const kills = isLong ? 20 : 2

/** Of the test and of its waits, ms. */
const limits = { timeout: isLong ? 3_600_000 : 300_000, interval: 200 }

const children = new Set<ChildProcess>()
afterAll(() => children.forEach((child) => child.kill('SIGKILL')))

test(
  `${sqliteLibraries.length * perProcess} transactions and more: rows and jobs agree, and each effect is there once`,
  limits,
  async () => {
    const folder = temporaryFolder()
    onTestFinished(() => folder.remove())
    const path = inFolder(folder.path)
    const database = new DatabaseSync(path, { timeout: 60_000 })
    onTestFinished(() => database.close())
    database.exec('PRAGMA journal_mode = WAL; CREATE TABLE orders (id TEXT); CREATE TABLE effects (id TEXT)')
    const idsIn = (table: string): unknown[] =>
      database
        .prepare(`SELECT id FROM ${table} ORDER BY id`)
        .all()
        .map(({ id }) => id)
    const open = (): unknown =>
      database
        .prepare(
          `SELECT (SELECT count(*) FROM jobchart_intents) + (SELECT count(*) FROM jobchart_jobs)
            - (SELECT count(*) FROM jobchart_lives WHERE state = 'done') AS open`,
        )
        .get()?.['open']

    const live = async (library: string, name: string, work: (child: ChildProcess) => Promise<unknown>) => {
      const child = forkProgram(
        new URL('sqlite/shop-child.ts', import.meta.url),
        [path, library, name, String(perProcess)],
        { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
      )
      children.add(child)
      const exited = once(child, 'exit')
      const ready = await Promise.race([once(child, 'message'), exited.then(() => null)])
      expect(ready).toEqual(['ready', undefined])
      await work(child)
      child.kill('SIGKILL')
      await exited
      children.delete(child)
    }
    const shop = async (library: string): Promise<void> => {
      for (let life = 1; life <= kills; life++) {
        await live(library, `${library}-${life}`, () => delay(100 + Math.random() * 1_500))
      }
      await live(library, `${library}-last`, async (child) => {
        await once(child, 'message')
        await expect.poll(open, limits).toBe(0)
      })
    }
    await Promise.all(sqliteLibraries.map(({ name }) => shop(name)))
    const orders = idsIn('orders')
    expect(orders.length).toBeGreaterThan(perProcess / 2)
    expect(idsIn('jobchart_jobs')).toEqual(orders)
    expect(idsIn('effects')).toEqual(orders)
  },
)
