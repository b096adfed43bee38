/** Opens the data set: a SQLite file in a temporary folder, made once, and its dashboard. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, createRuntime, type Client, type Clock } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import { eyesEnd, makeEyes, type EyesOptions } from './data.ts'
import { eyesJobs } from './jobs.ts'

/** What decides what is in the file: a file of another text is not opened. */
const sources = ['data.ts', 'jobs.ts', '../../src/stores/sqlite/migrations/0001-jobs.ts']
const sourcesHash = (): string => {
  const hash = createHash('sha256')
  for (const file of sources) hash.update(readFileSync(new URL(file, import.meta.url)))
  return hash.digest('hex').slice(0, 12)
}

export interface EyesFile {
  readonly path: string
  /** Was it made by this call? */
  readonly isNew: boolean
}

/** The file of the set, made if it is not there yet. @param fresh makes it anew */
export async function eyesFile(options: EyesOptions, fresh = false): Promise<EyesFile> {
  const folder = join(tmpdir(), 'jobchart-eyes')
  const path = join(folder, `${options.jobs}-${options.seed}-${sourcesHash()}.db`)
  if (existsSync(path) && !fresh) return { path, isNew: false }
  mkdirSync(folder, { recursive: true })
  // Made under another name: one that is not whole is never opened.
  const draft = `${path}.${process.pid}`
  const store = sqliteStore({ path: draft, durability: 'normal', transitionsMax: 100_000 })
  try {
    await makeEyes(store, options)
    remove(path)
    renameSync(draft, path)
  } finally {
    remove(draft)
  }
  return { path, isNew: true }
}

const remove = (path: string): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

/** The time of the set goes on from its end. */
function clockFromEnd(): Clock {
  const startedAt = systemClock.monotonic()
  return { ...systemClock, now: () => eyesEnd + Math.floor(systemClock.monotonic() - startedAt) }
}

export interface OpenEyes {
  readonly url: string
  readonly client: Client
  readonly close: () => Promise<void>
}

/**
 * The dashboard of a set.
 * @param work runs its jobs, too
 */
export async function openEyes(path: string, { port = 0, work = false } = {}): Promise<OpenEyes> {
  const options = {
    jobs: eyesJobs,
    store: sqliteStore({ path, durability: 'normal', transitionsMax: 100_000 }),
    clock: clockFromEnd(),
    logger: {},
  } as const
  if (work) {
    const runtime = createRuntime({ ...options, name: 'eyes' })
    await runtime.start()
    const { url, close } = await createDashboard({ runtime, title: 'eyes' }).listen({ port })
    return {
      url,
      client: runtime,
      close: () =>
        close()
          .then(() => runtime.stop({ mode: 'abort' }))
          .then(() => {}),
    }
  }
  const client = createClient(options)
  const { url, close } = await createDashboard({ client, title: 'eyes' }).listen({ port })
  return { url, client, close: () => close().then(() => client.close()) }
}
