// A bounded queue behind HTTP: `tryEnqueue` never waits, so a full house answers 503 at once instead of piling work up.
//
// prints:
//   202 202 202 503 503 400
//   full: 3 of 3 wait
//   with the workers back: 202
//   thumbnails of cat-0 cat-1 cat-2 cat-5
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime, defineJob } from 'jobchart'
import { firstValueFrom } from 'rxjs'
import { z } from 'zod'

const made: string[] = []

const thumbnail = defineJob({
  type: 'thumbnail',
  input: z.object({ image: z.string().min(1) }),
  run: async ({ image }) => void made.push(image),
})

const runtime = createRuntime({ jobs: [thumbnail], capacity: 3 })

const server = createServer((request, response) => {
  runtime.tryEnqueue(thumbnail, { image: request.url?.slice(1) ?? '' }).then(
    (job) => (job ? response.writeHead(202) : response.writeHead(503, { 'retry-after': '1' })).end(),
    () => response.writeHead(400).end(), // such as INVALID_INPUT
  )
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const { port } = server.address() as AddressInfo

const post = async (image: string): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${port}/${image}`, { method: 'POST' })
  return response.status
}

// The runtime takes jobs before it runs any: it has not been started yet, and so the queue fills up.
const statuses: number[] = []
for (const image of ['cat-0', 'cat-1', 'cat-2', 'cat-3', 'cat-4', '']) statuses.push(await post(image))
console.log(statuses.join(' '))

const { full, waiting, capacity } = await firstValueFrom(runtime.pressure$)
console.log(`${full ? 'full' : 'open'}: ${waiting} of ${capacity} wait`)

await runtime.start()
await runtime.drain()
console.log(`with the workers back: ${await post('cat-5')}`)

server.close()
await runtime.stop({ mode: 'drain' })
console.log('thumbnails of', made.join(' '))
