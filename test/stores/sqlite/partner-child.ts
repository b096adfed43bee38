/** A process that makes the calls it is asked to make, on stores of its own: the other half of `two-processes.ts`. */
import { sqliteStore } from 'jobchart/sqlite'
import { JobchartError } from 'jobchart'
import { systemClock, type Clock } from '../../../src/core/clock.ts'
import type { ClaimAnswer, Hint, Counts, JobPage, Store } from '../../../src/store.ts'

/** The methods of a store that are asked by name. */
export type Method = Exclude<keyof Store, 'name' | 'capabilities' | 'now' | 'open' | 'close' | 'watch'>

export interface Ask {
  readonly number: number
  readonly path: string
  /** The time of the store, which stands still until it is moved. */
  readonly now: number
  readonly method: Method | 'open' | 'close'
  readonly args: readonly unknown[]
}

export interface ToldError {
  readonly code: string | null
  readonly name: string
  readonly message: string
}

export type Told =
  | { readonly number: number; readonly answer: unknown }
  | { readonly number: number; readonly error: ToldError }
  | { readonly path: string; readonly hint: Hint }

const tell = (told: Told): void => void process.send?.(told)

interface Opened {
  readonly store: Store
  readonly clock: Clock & { time: number }
}

const opened = new Map<string, Opened>()

async function open({ path, now }: Ask): Promise<void> {
  const clock = { ...systemClock, time: now, now: () => clock.time }
  const store = sqliteStore({ path, durability: 'normal' })
  await store.open({ clock })
  store.watch((hint) => tell({ path, hint }))
  opened.set(path, { store, clock })
}

async function perform(ask: Ask): Promise<unknown> {
  if (ask.method === 'open') return open(ask)
  const { store, clock } = opened.get(ask.path) as Opened
  clock.time = ask.now
  if (ask.method === 'close') return store.close()
  const method = store[ask.method] as (...args: readonly unknown[]) => unknown
  return portable(ask.method, await method(...ask.args))
}

/** What is not plain data in an answer does not cross as it is. */
function portable(method: Method, answer: unknown): unknown {
  if (method === 'list') {
    const { next, cursor } = answer as JobPage
    return { jobs: [...(answer as JobPage)], next, cursor }
  }
  if (method === 'counts') return { counts: answer, cursor: (answer as Counts).cursor }
  if (method !== 'claim') return answer
  const { jobs, shortfalls } = answer as ClaimAnswer
  return { jobs: jobs.map((job) => ({ ...job, record: job.record() })), shortfalls }
}

process.on('message', (ask: Ask) => {
  perform(ask).then(
    (answer) => tell({ number: ask.number, answer }),
    (error: unknown) => {
      const code = error instanceof JobchartError ? error.code : null
      const { name, message } = error instanceof Error ? error : new Error(String(error))
      tell({ number: ask.number, error: { code, name, message } })
    },
  )
})
