/** A server for orders: POST /orders, POST /orders/:id/PAY, GET /orders/:id; they are shown at /jobs/. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime, JobchartError } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { jobs, order } from './jobs.ts'

const runtime = createRuntime({ jobs, store: process.env['JOBS'] ?? 'jobs.db' })
// Without `authorize` it takes requests of this computer that carry its token: see the address that is printed.
const dashboard = createDashboard({ runtime })

async function answer(method: string, path: string): Promise<unknown> {
  const [, orders, id, event] = path.split('/')
  if (orders !== 'orders') return null
  if (method === 'POST' && id === undefined) return { id: (await runtime.enqueue(order, { item: 'book' })).id }
  if (method === 'POST' && (event === 'PAY' || event === 'CANCEL')) {
    await runtime.send(id ?? '', { type: event })
    return { sent: event }
  }
  const record = await (await runtime.job(order, id ?? ''))?.record()
  return record === undefined ? null : { state: record.state, in: record.machineStates, output: record.output }
}

const statuses: Partial<Record<string, number>> = { NOT_FOUND: 404, NOT_ACCEPTED: 409 }

const server = createServer((request, response) => {
  const { method = 'GET', url = '/' } = request
  if (url.startsWith('/jobs')) return dashboard.node(request, response)
  answer(method, url).then(
    (found) => response.writeHead(found === null ? 404 : 200).end(JSON.stringify(found)),
    (error: unknown) => {
      const { code = '', message } = error instanceof JobchartError ? error : {}
      const status = statuses[code]
      if (status === undefined) console.error(error)
      response.writeHead(status ?? 500).end(status === undefined ? 'Internal error' : message)
    },
  )
})

await runtime.start()
server.listen(Number(process.env['PORT'] ?? 3000), process.env['HOST'] ?? '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`orders at http://127.0.0.1:${port}/orders; open /jobs/, and the address of the dashboard is printed`)
})
runtime.stopOn(['SIGTERM', 'SIGINT'], { timeout: '20s' })
runtime.state$.subscribe({ complete: () => void server.close() })
