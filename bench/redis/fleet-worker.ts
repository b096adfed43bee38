/** One of several processes that run the jobs of a queue: it tells which have run, and at the end what that took. */
import type { RedisQueue } from './redis-queue.ts'

export interface FleetWorkerParams {
  /** A module of `contenders/`. */
  readonly contender: string
  readonly url: string
  readonly prefix: string
  readonly types: number
  readonly slots: number
}

/** To the worker: begin; and tell what it has taken since. */
export type FleetRequest = 'go' | 'cpu'
/** From it: it can begin, these jobs have run, its CPU time since it began in µs, what went wrong. */
export type FleetMessage =
  'ready' | { readonly ran: readonly number[] } | { readonly cpuMicros: number } | { readonly failure: string }

const tellEveryMs = 20
const send = (message: FleetMessage): void => void process.send?.(message)
const failed = (error: unknown): void => send({ failure: String((error as Error).stack ?? error) })

// The process that has forked this one has ended, or needs it no longer.
process.on('disconnect', () => process.exit())
const { contender: name, url, prefix, types, slots } = JSON.parse(process.argv[2] ?? '') as FleetWorkerParams
let ran: number[] = []
const handlers = Array.from(
  { length: types },
  () =>
    async ({ i }: { readonly i: number }) =>
      void ran.push(i),
)
const { contender } = (await import(new URL(`../contenders/${name}.ts`, import.meta.url).href)) as {
  contender: RedisQueue
}
const queue = await contender.open({ url, prefix, handlers, slots })
let begun = process.cpuUsage()
process.on('message', (request: FleetRequest) => {
  if (request === 'cpu') {
    const { user, system } = process.cpuUsage(begun)
    return send({ cpuMicros: user + system })
  }
  begun = process.cpuUsage()
  queue.process().catch(failed)
  setInterval(() => {
    if (ran.length > 0) send({ ran })
    ran = []
  }, tellEveryMs)
})
send('ready')
