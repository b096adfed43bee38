// The web process takes orders and streams how they go on, as server-sent events. It runs none itself.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { createClient, JobchartError, type JobSnapshot, type Stream } from 'jobchart'
import { order, store } from './order.ts'

const client = createClient({ jobs: [order], store: store() })

const page = `<!doctype html><meta charset="utf-8"><title>Order</title><button>Order</button><ol></ol>
<script>
  document.querySelector('button').onclick = async () => {
    const { id } = await (await fetch('/orders', { method: 'POST' })).json()
    const events = new EventSource('/orders/' + id)
    const add = (text) => document.querySelector('ol').append(Object.assign(document.createElement('li'), { textContent: text }))
    events.onmessage = ({ data }) => add(JSON.parse(data).value ?? 'ordered')
    events.addEventListener('end', () => events.close()) // a browser would connect again
  }
</script>`

/** Each snapshot of the job, the newest one for a slow reader, until the job has ended or the reader is gone. */
async function* messages(snapshots: Stream<JobSnapshot>, signal: AbortSignal): AsyncGenerator<string> {
  for await (const snapshot of snapshots.iterate({ signal })) yield `data: ${JSON.stringify(snapshot)}\n\n`
  yield 'event: end\ndata:\n\n'
}

async function stream(id: string, response: ServerResponse): Promise<void> {
  const job = await client.job(id)
  if (job === null) return void response.writeHead(404).end()
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  try {
    await pipeline(messages(job.snapshot$, gone.signal), response)
  } catch (error) {
    if (!gone.signal.aborted) throw error
  }
}

async function answer({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    if (url === '/') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
    else if (method === 'POST') response.end(JSON.stringify({ id: (await client.enqueue(order, undefined)).id }))
    else await stream(url.slice('/orders/'.length), response)
  } catch (error) {
    console.error(error)
    if (!response.headersSent) response.writeHead(error instanceof JobchartError ? 503 : 500)
    response.end()
  }
}

const server = createServer((request, response) => void answer(request, response))
server.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') process.send?.(address?.port)
})
process.once('SIGTERM', () => {
  server.close(() => void client.close())
  server.closeAllConnections()
})
