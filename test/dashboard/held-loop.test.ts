/** The dashboard is served by the process that runs jobs: no piece of its work may hold up their leases. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRuntime, defineJob, fatal, memoryStore, schedule, type Store } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { condition } from '../../src/dashboard/condition.ts'
import { isLong } from '../harness/long-form.ts'
import { longestTurn } from '../support/loop-probe.ts'
import { newFile } from '../support/new-file.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const server = serverOfFile()

const megabyte = 'x'.repeat(1_000_000)

/** A machine of 300 states with a context of a megabyte. */
const large = setup({ actions: { enter: () => {}, stay: () => {} } }).createMachine({
  id: 'large',
  context: { text: megabyte },
  initial: 'g0',
  states: Object.fromEntries(
    Array.from({ length: 23 }, (_, group) => [
      `g${group}`,
      {
        initial: 's0',
        on: { NEXT: `g${(group + 1) % 23}` },
        states: Object.fromEntries(
          Array.from({ length: 12 }, (__, index) => [
            `s${index}`,
            { tags: ['busy'], entry: ['enter'], on: { GO: `s${(index + 1) % 12}`, STAY: { actions: 'stay' } } },
          ]),
        ),
      },
    ]),
  ),
})

const keyed = defineJob<{ key: string }>({
  type: 'keyed',
  concurrencyKey: ({ key }) => key,
  perKey: 1,
  concurrency: 2,
  run: () => new Promise(() => {}),
})
const heavy = defineJob<{ text: string }, number>({ type: 'heavy', run: async ({ text }) => text.length })
const failing = defineJob<{ n: number }>({
  type: 'failing',
  run: async ({ n }) => {
    throw fatal(new Error(`order ${n} is locked`))
  },
})
const failures = 600
const chart = defineJob({ type: 'large', machine: large })
const running = defineJob<{ text: string }>({ type: 'running', run: () => new Promise(() => {}) })
const runningCount = 16

const keys = isLong ? 100_000 : 15_000
/** The longest turn in ms of processor time. */
const heldMax = 10
/**
 * Where programs share caches and memory, all work takes more processor time: a turn may also take what writing and
 * reading a megabyte takes so many times. On a machine with nothing else to do that is less than `heldMax`.
 */
const megabytesMax = 6

/** Measurements, of which the shortest counts: garbage and other programs make the others longer. */
const timesMax = 20

/** The shortest time that a megabyte takes, ms, by the clock: a system may count processor time in steps of 4 ms. */
function oneMegabyte(): number {
  let shortestMs = Infinity
  for (let times = 0; times < timesMax; times++) {
    const from = performance.now()
    JSON.parse(JSON.stringify({ text: megabyte.slice(1) }))
    shortestMs = Math.min(shortestMs, performance.now() - from)
  }
  return shortestMs
}

/** How long a turn is, ms, if it is too long each time; else null. */
async function tooLong(turn: () => Promise<number>): Promise<number | null> {
  const max = Math.max(heldMax, megabytesMax * oneMegabyte())
  let shortestMs = Infinity
  for (let times = 0; times < timesMax; times++) {
    shortestMs = Math.min(shortestMs, await turn())
    if (shortestMs <= max) return null
  }
  return shortestMs
}

async function world(store: Store) {
  const runtime = createRuntime({
    store,
    jobs: [keyed, heavy, chart, running, failing],
    schedules: Array.from({ length: 3 }, (_, n) => schedule(`yearly ${n}`, '0 0 1 1 *', heavy, { text: megabyte })),
    concurrency: runningCount + 3,
    logger: {},
  })
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort' })))
  await runtime.start()
  const done = await runtime.enqueue(heavy, { text: megabyte })
  await done.result()
  const failed = await runtime.enqueueMany(
    failing,
    Array.from({ length: failures }, (_, n) => ({ n })),
    { meta: { tenant: 'a' }, tags: ['locked'] },
  )
  await Promise.all(failed.map((job) => job.result().catch(() => {})))
  const [group] = await runtime.failures()
  const parked = await runtime.enqueue(chart, undefined)
  await parked.waitFor('g0')
  const { id: machine } = parked
  for (let n = 0; n < runningCount; n++) await runtime.enqueue(running, { text: megabyte })
  const inputs = Array.from({ length: keys }, (_, index) => ({ key: `k${index}` }))
  for (let at = 0; at < keys; at += 5_000) await runtime.enqueueMany(keyed, inputs.slice(at, at + 5_000))
  await expect.poll(() => runtime.store.checkpoints(machine)).not.toEqual([])
  const checkpoints = await runtime.store.checkpoints(machine)
  const { fetch } = createDashboard({ runtime, authorize: () => 'admin' })
  const get = async (path: string): Promise<void> => {
    const leaving = new AbortController()
    const response = await fetch(new Request(`http://localhost/api/v1${path}`, { signal: leaving.signal }))
    expect([path, response.status]).toEqual([path, 200])
    if (path.startsWith('/events')) {
      await response.body?.getReader().read()
      leaving.abort()
    } else {
      // Piece by piece: who joins megabytes holds up the loop itself, and is here in the process that is measured.
      const reader = response.body?.getReader()
      while ((await reader?.read())?.done === false);
    }
  }
  return { runtime, get, heavy: done.id, machine, checkpoint: checkpoints.at(-1)?.seq, failure: group?.fingerprint }
}

function folder(): string {
  const made = temporaryFolder()
  onTestFinished(() => made.remove())
  return made.path
}

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: await newFile(folder()) })],
  ...(canStartRedis ? [['Redis', async () => redisStore({ url: server().url, prefix: randomUUID() })] as const] : []),
]

/** What is asked of each route that gives something. */
const pathsOf = ({
  heavy: job,
  machine,
  checkpoint,
  failure,
}: Omit<Awaited<ReturnType<typeof world>>, 'get' | 'runtime'>) => ({
  '': [''],
  '/overview': ['/overview'],
  '/workers': ['/workers'],
  '/activity': ['/activity'],
  '/failures': ['/failures'],
  '/failures/{fingerprint}': [`/failures/${failure}?type=failing`],
  '/find': ['/find?text=k1', '/find?text=nothing', '/find?text=locked'],
  '/trouble': ['/trouble'],
  '/events': ['/events', `/events?job=${job}`],
  '/queues/{type}': ['/queues/keyed', '/queues/large'],
  '/queues/{type}/activity': ['/queues/keyed/activity'],
  '/queues/{type}/heat': ['/queues/large/heat?period=week'],
  '/jobs': ['/jobs', '/jobs?type=heavy', '/jobs?type=keyed&state=queued', '/jobs?type=keyed&orderBy=due'],
  '/jobs/count': ['/jobs/count', '/jobs/count?type=keyed&state=queued'],
  '/jobs/{id}': [`/jobs/${job}`, `/jobs/${machine}`],
  '/jobs/{id}/test': [`/jobs/${job}/test`, `/jobs/${machine}/test`],
  '/jobs/{id}/family': [`/jobs/${job}/family`, `/jobs/${machine}/family`],
  '/jobs/{id}/checkpoints/{seq}': [`/jobs/${machine}/checkpoints/${checkpoint}`],
  '/schedules': ['/schedules'],
  '/charts': ['/charts'],
  '/charts/runtime.svg': ['/charts/runtime.svg'],
  '/charts/job.svg': ['/charts/job.svg', `/charts/job.svg?job=${job}`],
  '/charts/machine.svg': [
    '/charts/machine.svg?type=large',
    '/charts/machine.svg?type=large&heat=day',
    `/charts/machine.svg?job=${machine}`,
  ],
  '/bulk': ['/bulk'],
})

test('every route that gives something is asked', () => {
  const { paths } = JSON.parse(readFileSync(new URL('../../docs/dashboard-api.json', import.meta.url), 'utf8')) as {
    readonly paths: Readonly<Record<string, object>>
  }
  const given = Object.entries(paths).flatMap(([path, methods]) => ('get' in methods ? [path.slice(7)] : []))
  const asked = Object.keys(pathsOf({ heavy: '', machine: '', checkpoint: 0, failure: '' }))
  expect(asked.toSorted()).toEqual(given.toSorted())
})

test.each(stores)(
  `no answer holds up the jobs of its process: ${keys} keys, 1 MB payloads and 300 states on the %s store`,
  async (name, storeOf) => {
    const { get, runtime, ...ids } = await world(await storeOf())
    // A chart is drawn in a thread, whatever the store: in the short form once.
    const asked = Object.values(pathsOf(ids)).flat()
    const paths = asked.filter((path) => isLong || name === 'memory' || !path.includes('.svg'))
    const held: Record<string, number> = {}
    for (const path of paths) {
      await get(path)
      const ms = await tooLong(() => longestTurn(() => get(path)))
      if (ms !== null) held[path] = ms
    }
    // The overview shares for some seconds what this reads.
    const ms = await tooLong(() => longestTurn(() => condition(runtime)))
    if (ms !== null) held['condition'] = ms
    expect(held).toEqual({})
  },
)
