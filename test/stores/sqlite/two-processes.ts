/**
 * One store that is two: what is asked of it goes to this process's and to another process's store on the same file, by
 * turns. So whatever either remembers of the file is out of date at the next call, and must not be trusted.
 *
 * Calls that are made while others are under way go to the same process, since only there they have an order.
 */
import type { ChildProcess } from 'node:child_process'
import { JobchartError, type ErrorCode } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { withCursor } from '../../../src/core/cursor.ts'
import type { Clock } from '../../../src/core/clock.ts'
import type { JobRecord } from '../../../src/core/record.ts'
import type { ClaimAnswer, ClaimedJob, Hint, JobPage, Store } from '../../../src/store.ts'
import { startChild } from '../../harness/processes.ts'
import type { Ask, Method, Told, ToldError } from './partner-child.ts'

interface Waiting {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The other process. One is enough for many stores. */
export class Partner {
  private readonly child: ChildProcess
  private readonly waiting = new Map<number, Waiting>()
  private readonly listeners = new Map<string, (hint: Hint) => void>()
  private asked = 0

  constructor() {
    this.child = startChild(new URL('partner-child.ts', import.meta.url)).process
    this.child.on('message', (told: Told) => this.told(told))
    this.child.on('close', (code, signal) => {
      for (const { reject } of this.waiting.values()) reject(new Error(`the partner ended with ${code ?? signal}`))
    })
  }

  ask(ask: Omit<Ask, 'number'>): Promise<unknown> {
    const number = ++this.asked
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject })
      this.child.send({ ...ask, number } satisfies Ask)
    })
  }

  listen(path: string, listener: (hint: Hint) => void): void {
    this.listeners.set(path, listener)
  }

  end(): void {
    this.child.disconnect()
  }

  private told(told: Told): void {
    if ('hint' in told) return this.listeners.get(told.path)?.(told.hint)
    const waiting = this.waiting.get(told.number)
    this.waiting.delete(told.number)
    if ('answer' in told) return waiting?.resolve(told.answer)
    waiting?.reject(errorOf(told.error))
  }
}

/**
 * `confirm` answers in the call itself, so it is always asked here; SQLite has no repair, announces nothing and always
 * tells of ends; the groups have tests with processes of their own.
 */
type Shared = Exclude<
  Method,
  'confirm' | 'schedules' | 'bulk' | 'unreadable' | 'repair' | 'announce' | 'watchEnds' | 'transactions'
>

const methods = {
  insert: true,
  claim: true,
  settle: true,
  extend: true,
  checkpoint: true,
  send: true,
  reindex: true,
  checkpoints: true,
  cancel: true,
  retry: true,
  discard: true,
  promote: true,
  rescue: true,
  retain: true,
  prune: true,
  get: true,
  list: true,
  counts: true,
  queue: true,
  machineCounts: true,
  heat: true,
  queues: true,
  queuedSince: true,
  activity: true,
  failures: true,
  failureMerges: true,
  worker: true,
  workers: true,
  terms: true,
  transitions: true,
} satisfies Record<Shared, true>

/** A store on a file, open in both processes. */
export async function sharedStore(path: string, clock: Clock, partner: Partner): Promise<Store> {
  const here = sqliteStore({ path, durability: 'normal' })
  await here.open({ clock })
  const there = async (method: Ask['method'], ...args: readonly unknown[]): Promise<unknown> =>
    whole(method, await partner.ask({ path, now: clock.now(), method, args }))
  await there('open')
  let underWay = 0
  let isThere = false
  const ask = async (method: Shared, ...args: readonly unknown[]): Promise<unknown> => {
    if (underWay++ === 0) isThere = !isThere && canTravel(args)
    try {
      const own = here[method] as (...args: readonly unknown[]) => unknown
      return await (isThere ? there(method, ...args) : own(...args))
    } finally {
      underWay--
    }
  }
  const asked = Object.keys(methods).map((method) => [method, ask.bind(null, method as Shared)] as const)
  return {
    ...here,
    ...(Object.fromEntries(asked) as unknown as Pick<Store, Shared>),
    watch(listener) {
      partner.listen(path, listener)
      const unwatch = here.watch(listener)
      return () => {
        partner.listen(path, () => {})
        unwatch()
      }
    },
    async close() {
      await there('close')
      await here.close()
    },
  }
}

/** What cannot be read cannot be sent to another process. */
function canTravel(args: readonly unknown[]): boolean {
  try {
    structuredClone(args)
    return true
  } catch {
    return false
  }
}

function errorOf({ code, name, message }: ToldError): Error {
  if (code !== null) return new JobchartError(code as ErrorCode, message)
  return name === 'TypeError' ? new TypeError(message) : new Error(`${name}: ${message}`)
}

/** An answer of the other process as it was there. */
function whole(method: Ask['method'], answer: unknown): unknown {
  if (method === 'list') {
    const { jobs, next, cursor } = answer as { jobs: JobRecord[] } & Pick<JobPage, 'next' | 'cursor'>
    return withCursor(Object.assign(jobs, { next }), cursor)
  }
  if (method === 'counts') {
    const { counts, cursor } = answer as { counts: object; cursor: string }
    return withCursor(counts, cursor)
  }
  if (method !== 'claim') return answer
  const { jobs, shortfalls } = answer as Omit<ClaimAnswer, 'jobs'> & {
    jobs: (Omit<ClaimedJob, 'record'> & { record: JobRecord })[]
  }
  return { jobs: jobs.map((job) => ({ ...job, record: () => job.record })), shortfalls }
}
