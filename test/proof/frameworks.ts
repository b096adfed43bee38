/**
 * The applications of `examples/frameworks`: each is installed as its lock file says, built, started, asked over HTTP,
 * and ended by SIGTERM while a job runs.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createClient } from 'jobchart'
import { plainEnvironment } from '../support/plain-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'
import { sleep } from '../harness/sleep.ts'
import type { Proof } from './proof.ts'

const folder = join(repositoryRoot, 'examples/frameworks')
const msMax = 120_000
const password = 'of the proof'
/** Long enough that the signal comes while the job runs. */
const packingMs = 2_000

/** Ended by itself, or by the signal, as the server of Next.js does. */
const cleanEnds: ReadonlySet<unknown> = new Set([0, 128 + 15, 'SIGTERM'])

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Asks until there is an answer that will do. @throws Error if there is none in time */
async function until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  const end = performance.now() + msMax
  for (;;) {
    const answer = await ask().catch(() => null)
    if (answer !== null) return answer
    if (performance.now() > end) throw new Error(`${what}: not within ${msMax} ms`)
    await sleep(50)
  }
}

class Application {
  readonly said: string[] = []
  private readonly path: string
  private readonly url: string
  private readonly env: NodeJS.ProcessEnv
  private readonly processes: ChildProcess[] = []

  constructor(name: string, port: number, jobs: string) {
    this.path = join(folder, name)
    this.url = `http://127.0.0.1:${port}`
    this.env = {
      ...plainEnvironment,
      PATH: process.env['PATH'],
      PORT: String(port),
      HOSTNAME: '127.0.0.1',
      JOBS: jobs,
      ADMIN_PASSWORD: password,
      NEXT_TELEMETRY_DISABLED: '1',
    }
  }

  install(): void {
    const { scripts } = JSON.parse(readFileSync(join(this.path, 'package.json'), 'utf8')) as { scripts: object }
    // What npm is told about its registry stands in the environment.
    const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }
    const run = (...args: string[]): void =>
      void execFileSync('npm', args, { cwd: this.path, env, stdio: ['ignore', 'ignore', 'pipe'] })
    run('ci', '--ignore-scripts')
    if ('build' in scripts) run('run', 'build')
    // Not by npm: it does not always hand a signal on.
    const commands = Object.entries(scripts).filter(([script]) => script === 'start' || script === 'worker')
    for (const [, command] of commands) this.start(String(command))
  }

  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, init)
  }

  async order(item: string, ms: number): Promise<string> {
    const body = JSON.stringify({ item, packingMs: ms })
    const response = await this.ask('/orders', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    if (response.status !== 202) throw new Error(`an order was answered with ${response.status}`)
    return ((await response.json()) as { id: string }).id
  }

  async state(id: string): Promise<{ state: string; output?: unknown }> {
    return (await (await this.ask(`/orders/${id}`)).json()) as { state: string; output?: unknown }
  }

  /** @returns the exit codes of its processes, or their signals */
  async end(): Promise<unknown[]> {
    const ends = this.processes.map(async (child) => {
      if (child.exitCode !== null) return child.exitCode
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), msMax)
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
      clearTimeout(late)
      return code ?? signal
    })
    return Promise.all(ends)
  }

  start(command: string): void {
    const [program = '', ...args] = command.split(' ')
    const path = program === 'node' ? process.execPath : join(this.path, 'node_modules/.bin', program)
    const child = spawn(path, args, { cwd: this.path, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => this.said.push(String(text)))
    this.processes.push(child)
  }
}

/**
 * The development server of Next.js, while the definition of its job changes: the next request takes the changed one,
 * by one client. It works in a copy, whose files may be written.
 * @returns what is not as it should be
 */
async function tryReload(): Promise<string[]> {
  const name = '.nextjs-reload'
  const path = join(folder, name)
  const temporary = temporaryFolder()
  rmSync(path, { recursive: true, force: true })
  execFileSync('cp', ['-al', join(folder, 'nextjs'), path])
  rmSync(join(path, '.next'), { recursive: true, force: true })
  const app = new Application(name, await freePort(), join(temporary.path, 'jobs.db'))
  try {
    app.start('next dev')
    await until('an order in development', () => app.order('book', 10))
    const file = join(path, 'order.ts')
    const text = readFileSync(file, 'utf8')
    // A new file: that of the example has the same content under another name.
    rmSync(file)
    writeFileSync(file, text.replace("type: 'order',", "type: 'order',\n  unique: true,"))
    // No worker runs: by the changed definition a second order of the same item is the first one.
    await until('an order by the changed definition', async () => {
      const ids = [await app.order('atlas', 10), await app.order('atlas', 10)]
      return ids[0] === ids[1] ? ids : null
    })
    return []
  } catch (error) {
    return [`nextjs in development: ${(error as Error).message}\n${app.said.join('')}`]
  } finally {
    await app.end()
    temporary.remove()
    rmSync(path, { recursive: true, force: true })
  }
}

/** @returns what is not as it should be */
async function tryOne(name: string): Promise<string[]> {
  const temporary = temporaryFolder()
  const jobs = join(temporary.path, 'jobs.db')
  const app = new Application(name, await freePort(), jobs)
  const wrong: string[] = []
  const expectEqual = (what: string, actual: unknown, expected: unknown): void => {
    if (JSON.stringify(actual) !== JSON.stringify(expected)) wrong.push(`${name}: ${what} is ${JSON.stringify(actual)}`)
  }
  try {
    app.install()
    const id = await until('the first order', () => app.order('book', 10))
    const { output } = await until('its end', async () => {
      const found = await app.state(id)
      return found.state === 'done' ? found : null
    })
    expectEqual('the output', output, { shipped: 'book' })
    expectEqual('an order that is not there', (await app.ask('/orders/none')).status, 404)
    await tryDashboard(app, expectEqual)
    const last = await app.order('atlas', packingMs)
    await until('the last order running', async () => ((await app.state(last)).state === 'running' ? true : null))
    const ends = await app.end()
    if (!ends.every((end) => cleanEnds.has(end))) wrong.push(`${name}: the end by SIGTERM is ${String(ends)}`)
    const client = createClient({ jobs: [], store: jobs })
    expectEqual('the job that ran', (await (await client.job(last))?.record())?.state, 'done')
    await client.close()
  } catch (error) {
    wrong.push(`${name}: ${(error as Error).message}\n${app.said.join('')}`)
    await app.end()
  } finally {
    temporary.remove()
  }
  return wrong
}

async function tryDashboard(
  app: Application,
  expectEqual: (what: string, actual: unknown, expected: unknown) => void,
): Promise<void> {
  const headers = { authorization: `Basic ${btoa(`admin:${password}`)}` }
  expectEqual('the dashboard without a password', (await app.ask('/admin/jobs/')).status, 401)
  const page = await app.ask('/admin/jobs/', { headers })
  expectEqual('the dashboard', [page.status, (await page.text()).includes('app.js')], [200, true])
  expectEqual('its script', (await app.ask('/admin/jobs/assets/app.js', { headers })).status, 200)
  const overview = (await (await app.ask('/admin/jobs/api/v1/overview', { headers })).json()) as {
    counts: { done: number }
  }
  expectEqual('its figures', overview.counts.done, 1)
  const metrics = await (await app.ask('/admin/jobs/metrics', { headers })).text()
  expectEqual('its metrics', metrics.includes('jobchart_jobs_done_total{type="order"} 1\n'), true)
}

export const frameworks: Proof = {
  name: 'frameworks',
  claim: 'each application of examples/frameworks serves, runs jobs, shows its dashboard and ends by SIGTERM',
  async run() {
    // The applications load the package as it is built.
    execFileSync('npm', ['run', 'build'], { cwd: repositoryRoot, stdio: ['ignore', 'ignore', 'inherit'] })
    const names = readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .toSorted()
    const failures: string[] = []
    for (const name of names) failures.push(...(await tryOne(name)))
    failures.push(...(await tryReload()))
    return { summary: `${names.join(', ')}; a reload in development`, failures }
  },
}
