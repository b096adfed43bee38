// Between a broker and its workers: each message becomes a job, and is acknowledged once that job is stored. A source
// that can be paused is paused while the runtime has no room; a message that is delivered twice is one job.
//
// prints:
//   the broker is paused: true
//   acknowledged: m1, m2, m3, m4, m5
//   delivered again, shipped once: m5
//   shipped: apple, pear, fig, plum, lime
//   labels: APPLE, FIG
import { EventEmitter } from 'node:events'
import { createRuntime, defineJob, enqueueTo, runJob } from 'jobchart'
import { filter, from, fromEvent, lastValueFrom, tap, toArray, type Observable } from 'rxjs'

interface Message {
  readonly id: string
  readonly fruit: string
}

const shipped: string[] = []
const ship = defineJob<string, void>({ type: 'ship', run: async (fruit) => void shipped.push(fruit) })
const label = defineJob<string, string>({ type: 'label', run: async (fruit) => fruit.toUpperCase() })
const runtime = createRuntime({ jobs: [ship, label], capacity: 3 })

/**
 * A consumer as those of Kafka or AMQP are: it pushes messages until it is paused, and again those nobody acknowledged.
 */
const broker = new EventEmitter()
const acknowledged: string[] = []
let wasPaused = false
const messages$ = fromEvent(broker, 'message') as Observable<Message>

messages$
  .pipe(
    enqueueTo(runtime, ship, {
      concurrency: 2,
      map: ({ id, fruit }) => ({ input: fruit, options: { id } }),
      acknowledge: ({ id }) => acknowledged.push(id),
      onPressure: (isFull) => (wasPaused ||= isFull),
    }),
    filter((job) => job.deduplicated),
    tap((job) => console.log('delivered again, shipped once:', job.id)),
  )
  .subscribe()

const fruits = ['apple', 'pear', 'fig', 'plum', 'lime']
fruits.forEach((fruit, n) => broker.emit('message', { id: `m${n + 1}`, fruit }))
console.log('the broker is paused:', wasPaused)

// From now on jobs run, and make room for the messages that wait.
await runtime.start()
while (acknowledged.length < fruits.length) await runtime.drain()
console.log('acknowledged:', acknowledged.join(', '))
broker.emit('message', { id: 'm5', fruit: 'lime' })
await runtime.drain()
console.log('shipped:', shipped.join(', '))

// The other operator waits for the outputs, here in the order of the inputs.
const labels = await lastValueFrom(from(['apple', 'fig']).pipe(runJob(runtime, label, { ordered: true }), toArray()))
console.log('labels:', labels.join(', '))
await runtime.stop()
