import fastify from 'fastify'
import { dashboard, order, runtime } from './jobs.ts'

const app = fastify()

app.post<{ Body: { item: string; packingMs?: number } }>('/orders', async ({ body }, reply) => {
  const { item, packingMs = 10 } = body
  const { id } = await runtime.enqueue(order, { item, packingMs })
  return reply.code(202).send({ id })
})

app.get<{ Params: { id: string } }>('/orders/:id', async ({ params }, reply) => {
  const job = await runtime.job(order, params.id)
  if (job === null) return reply.code(404).send({ error: 'no such order' })
  const { state, output } = await job.record()
  return { state, output }
})

app.get('/admin/jobs', (_request, reply) => reply.redirect('jobs/'))
app.all('/admin/jobs/*', (request, reply) => {
  reply.hijack()
  dashboard.node(Object.assign(request.raw, { body: request.body }), reply.raw)
})

await runtime.start()
// On SIGTERM running jobs go on to their end; then the server closes, and the process ends by itself.
runtime.stopOn(['SIGTERM', 'SIGINT'], { timeout: '20s' })
runtime.state$.subscribe({ complete: () => void app.close() })
console.log(await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' }))
