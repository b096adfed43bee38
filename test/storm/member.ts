/** What the processes of a storm have in common: what they are told when they are started, and what they say. */
import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import type { Logger, Store } from 'jobchart'
import { historyFile, recordingStore, type HistorySink } from 'jobchart/store-testing'
import { faultyStore } from 'jobchart/testing'
import type { StormOptions } from './command.ts'
import { storeNamed } from './stores.ts'

/** How long a run may go on after SIGTERM. */
export const graceMs = 1_000

/** How a process ends that finds the store unavailable at its start. */
export const unavailableCode = 75

export interface Assignment {
  /** Ends of runs reach the store late now and then, as from a machine that is cut off for a while. */
  readonly isRemote: boolean
  readonly options: StormOptions
  readonly folder: string
  /** `worker-3.17`: the 17th process in the third place. */
  readonly name: string
  /** Of a producer: the task to begin with, and when (wall time) production began. */
  readonly from: number
  readonly startedAt: number
}

/** What a process tells: it works (a worker with its id), or all tasks below a number are done. */
export interface Told {
  readonly ready?: string
  readonly doneBelow?: number
}

/** What a process is told: to block its event loop for so long. */
export interface Order {
  readonly block?: number
}

export interface Member {
  readonly assignment: Assignment
  readonly store: Store
  readonly sink: HistorySink
  readonly logger: Logger
  readonly tell: (told: Told) => void
}

/** This process, as it was started by the storm. */
export function member(): Member {
  const assignment = JSON.parse(process.argv[2] ?? '') as Assignment
  const { folder, name, options, isRemote } = assignment
  const { sink } = historyFile(join(folder, 'history', `${name}.ndjson`))
  const log = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    const { error, ...rest } = fields ?? {}
    const cause = error instanceof Error ? error.message : error
    appendFileSync(join(folder, 'log.txt'), `${name} ${level} ${message} ${JSON.stringify({ ...rest, cause })}\n`)
  }
  const quiet = (): void => {}
  const store = storeNamed(options.store)(folder)
  // Nobody is left to tell, and nobody to end it.
  process.on('disconnect', () => process.exit(3))
  return {
    assignment,
    sink,
    store: recordingStore(isRemote ? remote(store, options) : store, sink),
    logger: { debug: quiet, info: quiet, warn: log('warn'), error: log('error') },
    tell: (told) => {
      // Who is killed leaves no cache behind.
      if (told.ready !== undefined) flushCompileCache()
      process.send?.(told)
    },
  }
}

/**
 * A store at the end of a bad road: what is under way when its lease runs out arrives all the same, and must be
 * refused.
 */
const remote = (store: Store, { leaseMs }: StormOptions): Store =>
  faultyStore(store, { faults: { settle: { late: 0.05, lateBy: 4 * leaseMs } } })
