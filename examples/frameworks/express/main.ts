import express from 'express'
import { dashboard, order, runtime } from './jobs.ts'

const app = express()
app.use(express.json())

app.post('/orders', async (request, response) => {
  const { item, packingMs = 10 } = request.body as { item: string; packingMs?: number }
  const { id } = await runtime.enqueue(order, { item, packingMs })
  response.status(202).json({ id })
})

app.get('/orders/:id', async (request, response) => {
  const job = await runtime.job(order, request.params.id)
  if (job === null) return void response.status(404).json({ error: 'no such order' })
  const { state, output } = await job.record()
  response.json({ state, output })
})

app.use('/admin/jobs', dashboard.node)

await runtime.start()
const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
// On SIGTERM running jobs go on to their end; then the server closes, and the process ends by itself.
runtime.stopOn(['SIGTERM', 'SIGINT'], { timeout: '20s' })
runtime.state$.subscribe({ complete: () => void server.close() })
