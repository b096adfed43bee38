/** Jobs per second of several processes that share one queue on a server. */
import { fork, type ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Ledger, NotVerified, verifyEqual } from '../harness/ledger.ts'
import { ServerView } from '../harness/redis.ts'
import type { Timed } from '../harness/timed.ts'
import type { FleetMessage, FleetRequest, FleetWorkerParams } from './fleet-worker.ts'
import type { RedisQueue } from './redis-queue.ts'

export interface FleetParams extends Omit<FleetWorkerParams, 'prefix'> {
  readonly workers: number
  readonly jobs: number
}

export interface FleetResult extends Timed {
  /** CPU time of the server per job, µs. */
  readonly serverCpuMicros: number
}

/** What runs before this part of the jobs has ended is to warm up, and does not count. */
const warmUpPart = 0.2
/** So often it is asked whether the ends of all have been stored. */
const askEveryMs = 10

/** @throws NotVerified unless each job has run once, in whichever process */
export async function measure({ workers, jobs, ...params }: FleetParams): Promise<FleetResult> {
  const own = { ...params, prefix: `fleet-${process.pid}` }
  const url = new URL(`../contenders/${params.contender}.ts`, import.meta.url)
  const { contender } = (await import(url.href)) as { contender: RedisQueue }
  const server = await ServerView.at(params.url)
  const queue = await contender.open({ ...own, handlers: Array.from({ length: params.types }, () => nothing) })
  await queue.enqueue(jobs, { by: 'batch', size: 100 })
  const marks = new Marks(jobs)
  const { ledger } = marks
  const fleet = await Promise.all(Array.from({ length: workers }, () => FleetWorker.start(own, marks.add)))
  const until = (count: number): Promise<void> =>
    fleet.reduce((reached, worker) => worker.unlessItFails(reached), marks.reached(count))
  for (const worker of fleet) worker.go()
  await until(jobs * warmUpPart)
  const [before, { cpuMicros: serverBefore }] = await Promise.all([sum(fleet), server.counters()])
  const [warm, from] = [ledger.count, performance.now()]
  await until(jobs)
  const tookMs = performance.now() - from
  const [after, { cpuMicros: serverAfter }] = await Promise.all([sum(fleet), server.counters()])
  ledger.verify()
  while ((await queue.left()) > 0) await pause(askEveryMs)
  for (const worker of fleet) worker.end()
  await queue.close()
  await server.clear()
  server.close()
  const counted = jobs - warm
  verifyEqual('a part to count', counted > 0, true)
  return {
    perSecond: (counted / tookMs) * 1_000,
    cpuMicrosPerJob: (after - before) / counted,
    serverCpuMicros: (serverAfter - serverBefore) / counted,
  }
}

const nothing = async (): Promise<void> => {}

const sum = async (fleet: readonly FleetWorker[]): Promise<number> =>
  (await Promise.all(fleet.map((worker) => worker.cpuMicros()))).reduce((all, each) => all + each, 0)

/** A worker as the process sees it that has forked it. No message is missed, however many come at once. */
class FleetWorker {
  private readonly forked: ChildProcess
  private readonly ready = Promise.withResolvers<void>()
  /** Rejects when it fails. */
  private readonly failure = Promise.withResolvers<never>()
  private cpu = Promise.withResolvers<number>()

  private constructor(forked: ChildProcess, ran: (jobs: readonly number[]) => void) {
    this.forked = forked
    forked.on('exit', (code, signal) => this.fail(`a worker has ended (${signal ?? code})`))
    forked.on('message', (message: FleetMessage) => {
      if (message === 'ready') this.ready.resolve()
      else if ('ran' in message) ran(message.ran)
      else if ('failure' in message) this.fail(message.failure)
      else this.cpu.resolve(message.cpuMicros)
    })
  }

  static async start(params: FleetWorkerParams, ran: (jobs: readonly number[]) => void): Promise<FleetWorker> {
    const module = fileURLToPath(new URL('fleet-worker.ts', import.meta.url))
    const worker = new FleetWorker(fork(module, [JSON.stringify(params)], { stdio: ['ignore', 2, 2, 'ipc'] }), ran)
    await worker.unlessItFails(worker.ready.promise)
    return worker
  }

  go(): void {
    this.ask('go')
  }

  async cpuMicros(): Promise<number> {
    this.cpu = Promise.withResolvers()
    this.ask('cpu')
    return this.unlessItFails(this.cpu.promise)
  }

  /** @throws NotVerified when it fails first */
  unlessItFails<T>(what: Promise<T>): Promise<T> {
    return Promise.race([what, this.failure.promise])
  }

  end(): void {
    this.forked.removeAllListeners('exit').disconnect()
  }

  private ask(request: FleetRequest): void {
    this.forked.send(request)
  }

  private fail(why: string): void {
    // Whoever waits is told; nobody need wait.
    this.failure.promise.catch(() => {})
    this.failure.reject(new NotVerified(why))
  }
}

/** The jobs that have run in any process, and who waits for so many of them. */
class Marks {
  readonly ledger: Ledger
  private wanted = { count: Infinity, reached: (): void => {} }

  constructor(jobs: number) {
    this.ledger = new Ledger(jobs)
  }

  readonly add = (jobs: readonly number[]): void => {
    for (const i of jobs) this.ledger.mark(i)
    if (this.ledger.count >= this.wanted.count) this.wanted.reached()
  }

  reached(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.wanted = { count, reached: resolve }
    if (this.ledger.count >= count) resolve()
    return promise
  }
}
