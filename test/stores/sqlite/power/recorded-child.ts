/**
 * A process that works on a file and writes down what it was answered, in a file beside it: so that its
 * acknowledgements and its writes stand in one record, in their order. Arguments: folder, durability, a setting of
 * `synchronous` to use in place of the store's, and seed.
 */
import { openSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { sqliteStore } from 'jobchart/sqlite'
import { seededRandom, systemClock } from '../../../../src/core/clock.ts'
import type { Settlement } from '../../../../src/core/settlement.ts'
import type { ClaimedJob, Store } from '../../../../src/store.ts'
import { boom, newJob, put, take } from '../../../../src/store-testing/conformance/acts.ts'
import { acksFile, dataFile, type Ack } from './judge.ts'

const [folder = '', durability = 'full', synchronous = '', seed = '1'] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const acks = openSync(join(folder, acksFile), 'a')
const ack = (...acked: readonly Ack[]): void => {
  for (const each of acked) writeSync(acks, `${JSON.stringify(each)}\n`)
}

if (synchronous !== '') {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the database that it is asked of
  const { exec: execBefore } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    execBefore.call(this, sql.replace(/^PRAGMA synchronous = \w+$/, `PRAGMA synchronous = ${synchronous}`))
  }
}

const rounds = 140
let jobs = 0

async function enqueue(store: Store): Promise<void> {
  const ids = Array.from({ length: 1 + Math.floor(random() * 4) }, () => `job ${jobs++}`)
  const answers = await put(store, ...ids.map((id) => newJob(id, { input: { id, text: 'x'.repeat(400) } })))
  ack(...answers.map(({ id }): Ack => ({ what: 'enqueue', id })))
}

const ending = ({ id, attempt, token }: ClaimedJob): Settlement =>
  random() < 0.7
    ? { id, attempt, token, event: 'COMPLETE', to: 'done', output: { by: token } }
    : { id, attempt, token, event: 'FAIL', to: 'retrying', error: boom, delayMs: 3_600_000 }

async function work(store: Store, token: string): Promise<void> {
  const claimed = await take(store, { max: 3, token })
  ack(...claimed.map(({ id, attempt }): Ack => ({ what: 'claim', id, attempt })))
  if (random() < 0.2) return
  const answers = await store.settle(claimed.map(ending))
  ack(...answers.map(({ to }, i): Ack => ({ what: 'settle', id: claimed[i]?.id ?? '', state: to })))
}

for (let life = 0; life < 3; life++) {
  const store = sqliteStore({ path: join(folder, dataFile), durability: durability === 'normal' ? 'normal' : 'full' })
  await store.open({ clock: systemClock })
  for (let round = 0; round < rounds; round++) {
    // Calls of one turn are one transaction.
    await Promise.all([enqueue(store), work(store, `t${life}.${round}`)])
  }
  // The last one is cut short: what is in the log stays there.
  if (life < 2) await store.close()
}
process.exit(0)
