// A read model in a file of its own: rows and cursor in one transaction. A killed reader applies no entry twice.
//
// prints:
//   reader 1 begins with 3 orders, 0 shipped
//   reader 1 was killed in a transaction
//   reader 2 goes on with 3 orders, 1 shipped
//   reader 2 ends with 6 orders, 6 shipped
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { createClient, createRuntime, defineJob, type TransitionEntry } from 'jobchart'

const who = process.argv[2] ?? 'the shop'
const ship = defineJob<void, void>({ type: 'ship', run: () => {} })
const client = createClient({ jobs: [ship], store: 'jobs.db' })
const worker = createRuntime({ jobs: [ship], store: 'jobs.db' })
const db = new DatabaseSync('model.db')
db.exec('CREATE TABLE IF NOT EXISTS orders (id PRIMARY KEY, state, seq)')
db.exec('CREATE TABLE IF NOT EXISTS model (cursor, shipped)')
const model = () => db.prepare('SELECT cursor, shipped, (SELECT count(*) FROM orders) AS orders FROM model').get()
const told = () => `${Number(model()?.['orders'])} orders, ${Number(model()?.['shipped'])} shipped`
const put = db.prepare('REPLACE INTO orders VALUES (?, ?, ?)')

/** The first snapshot, or a new one after SLOW_READER: see the guide, also for more than one page. */
async function build(): Promise<void> {
  const page = await client.list({ fields: ['id', 'state', 'history'], limit: 1_000 })
  db.exec('BEGIN; DELETE FROM orders; DELETE FROM model')
  for (const { id, state, history } of page) put.run(id, state, history.at(-1)?.seq ?? 0)
  db.prepare('INSERT INTO model VALUES (?, ?)').run(page.cursor, page.filter(({ state }) => state === 'done').length)
  db.exec('COMMIT')
}

function apply({ id, to, seq, cursor }: TransitionEntry): unknown {
  const known = Number(db.prepare('SELECT seq FROM orders WHERE id = ?').get(id)?.['seq'] ?? 0)
  db.exec('BEGIN')
  if (seq > known) put.run(id, to, seq) // otherwise the snapshot has it already
  if (seq > known && to === 'done') db.exec('UPDATE model SET shipped = shipped + 1')
  if (who === 'reader 1' && model()?.['shipped'] === 2) process.kill(process.pid, 'SIGKILL')
  db.prepare('UPDATE model SET cursor = ?').run(cursor)
  db.exec('COMMIT')
  return model()?.['shipped']
}

for (const name of who === 'the shop' ? ['reader 1', 'reader 2'] : []) {
  await client.enqueueMany(ship, [undefined, undefined, undefined])
  const reader = fork(import.meta.filename, [name])
  const end = once(reader, 'exit')
  await once(reader, 'message')
  await worker.start()
  if ((await end)[1] === 'SIGKILL') console.log(`${name} was killed in a transaction`)
}
if (who !== 'the shop') {
  if (model() === undefined) await build()
  console.log(who, who === 'reader 1' ? 'begins with' : 'goes on with', told())
  process.send?.('ready')
  for await (const entry of client.transitions$({ from: String(model()?.['cursor']) })) if (apply(entry) === 6) break
  console.log(who, 'ends with', told())
}
await client.close()
await worker.stop()
