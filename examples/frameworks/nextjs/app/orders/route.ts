import { client } from '../../client.ts'
import { order } from '../../order.ts'

export async function POST(request: Request): Promise<Response> {
  const { item, packingMs = 10 } = (await request.json()) as { item: string; packingMs?: number }
  const { id } = await client.enqueue(order, { item, packingMs })
  return Response.json({ id }, { status: 202 })
}
