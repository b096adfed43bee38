import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { dashboard, order, runtime } from './jobs.ts'

const app = new Hono()

app.post('/orders', async (c) => {
  const { item, packingMs = 10 } = await c.req.json<{ item: string; packingMs?: number }>()
  const { id } = await runtime.enqueue(order, { item, packingMs })
  return c.json({ id }, 202)
})

app.get('/orders/:id', async (c) => {
  const job = await runtime.job(order, c.req.param('id'))
  if (job === null) return c.json({ error: 'no such order' }, 404)
  const { state, output } = await job.record()
  return c.json({ state, output })
})

app.all('/admin/jobs/*', (c) => dashboard.fetch(c.req.raw))

await runtime.start()
const server = serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000), hostname: '127.0.0.1' })
// On SIGTERM running jobs go on to their end; then the server closes, and the process ends by itself.
runtime.stopOn(['SIGTERM', 'SIGINT'], { timeout: '20s' })
runtime.state$.subscribe({ complete: () => void server.close() })
