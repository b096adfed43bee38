// A browser sees an order move while another process runs it: a web process and a worker share a file.
//
//   npm run example:progress           orders once, prints what a browser gets, and ends
//   npm run example:progress -- serve  prints the address of a page with a button
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'jobchart-progress-'))
const start = (file: string): ChildProcess => fork(new URL(file, import.meta.url), [join(folder, 'orders.db')])

const web = start('web.ts')
const [port] = await once(web, 'message')
const worker = start('worker.ts')
const address = `http://127.0.0.1:${String(port)}`

if (process.argv[2] === 'serve') {
  console.log(`${address}/  (Ctrl-C ends it)`)
  await once(process, 'SIGINT')
} else {
  const { id } = (await (await fetch(`${address}/orders`, { method: 'POST' })).json()) as { id: string }
  const text = await (await fetch(`${address}/orders/${id}`)).text()
  const data = text.matchAll(/^data: (.+)$/gm)
  const values = [...data].map(([, json = '']) => (JSON.parse(json) as { value?: string }).value ?? 'ordered')
  console.log([...new Set(values)].join(' → '))
}
for (const each of [web, worker]) {
  const end = once(each, 'exit')
  each.kill('SIGTERM')
  await end
}
rmSync(folder, { recursive: true, force: true })
