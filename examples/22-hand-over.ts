// Hand-over: with `capacity: 0` nothing waits in a queue. A job is stored only when a worker has a free slot for it.
//
// prints:
//   two slots: started, started, busy
//   a caller that waits gets the next slot: done with c
//   a caller that gives up: TIMEOUT
import { createRuntime, defineJob } from 'jobchart'

const films = new Map(['a', 'b', 'c'].map((film) => [film, Promise.withResolvers<void>()]))

const transcode = defineJob<string, string>({
  type: 'transcode',
  capacity: 0,
  run: async (film) => {
    await films.get(film)?.promise
    return `done with ${film}`
  },
})

const runtime = createRuntime({ jobs: [transcode], concurrency: 2 })
await runtime.start()

const answers = await Promise.all(['a', 'b', 'c'].map((film) => runtime.tryEnqueue(transcode, film)))
console.log(`two slots: ${answers.map((job) => (job === null ? 'busy' : 'started')).join(', ')}`)

// No slot is free: this call waits until one is, and nothing is stored until then.
const waiting = runtime.enqueue(transcode, 'c')
films.get('a')?.resolve()
const job = await waiting
films.get('c')?.resolve()
console.log(`a caller that waits gets the next slot: ${await job.result()}`)

runtime.concurrency = 1
const refused = await runtime.enqueue(transcode, 'd', { timeout: '50ms' }).catch((error: { code: string }) => error)
console.log(`a caller that gives up: ${'code' in refused ? refused.code : refused.id}`)

films.get('b')?.resolve()
await runtime.stop()
