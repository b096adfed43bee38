import { client } from '../../../client.ts'
import { order } from '../../../order.ts'

export async function GET(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  const job = await client.job(order, (await params).id)
  if (job === null) return Response.json({ error: 'no such order' }, { status: 404 })
  const { state, output } = await job.record()
  return Response.json({ state, output })
}
