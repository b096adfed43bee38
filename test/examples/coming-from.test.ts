/**
 * The programs of the pages for users of other queues, and of the page about machines, run as they are shown, and run
 * again on what the first run has left in the store.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test as plainTest } from 'vitest'
import { tsBlocks } from '../support/markdown-code.ts'
import { plainEnvironment } from '../support/plain-environment.ts'
import { canStartPostgres, postgresOfFile } from '../support/postgres-server.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

// Inside the repository, so that `import 'jobchart'` finds us as a user's import finds the package. Git ignores it.
const folder = join(repositoryRoot, 'test/.coming-from')
const pages = [
  'coming-from-gocraft-work',
  'coming-from-bullmq',
  'coming-from-temporal',
  'coming-from-agenda',
  'coming-from-inngest-and-trigger-dev',
  'coming-from-pg-boss',
  'coming-from-graphile-worker',
  'machines',
]
const server = serverOfFile()
const postgres = postgresOfFile()

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true })
  for (const page of pages) {
    await mkdir(join(folder, page), { recursive: true })
    for (const { code } of tsBlocks(readFileSync(join(repositoryRoot, `docs/${page}.md`), 'utf8'))) {
      const [, name] = /^\/\/ ([\w-]+\.ts)\b/.exec(code) ?? []
      if (name !== undefined) await writeFile(join(folder, page, name), code)
    }
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

class Program {
  readonly process: ChildProcess
  private said = ''

  constructor(page: string, file: string, env: NodeJS.ProcessEnv = { REDIS_URL: server().url }) {
    this.process = fork(join(folder, page, file), {
      cwd: join(folder, page),
      execArgv: ['--conditions=@jobchart/source'],
      env: { ...plainEnvironment, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const output of [this.process.stdout, this.process.stderr]) {
      output?.setEncoding('utf8').on('data', (text: string) => (this.said += text))
    }
  }

  /** Its exit code and the lines it has written. */
  async ended(): Promise<{ readonly code: number | null; readonly lines: readonly string[] }> {
    const [code] = (await once(this.process, 'close')) as [number | null]
    return { code, lines: this.said.trimEnd().split('\n') }
  }
}

test('the programs of the page for users of gocraft/work', async () => {
  const [page = ''] = pages
  const worker = new Program(page, 'worker.ts')
  const stopped = worker.ended()
  expect(await new Program(page, 'producer.ts').ended()).toEqual({
    code: 0,
    lines: ['hello to ada@example.com, for customer 4', '5000 { row: 4000 }', 'kept true', 'replaced'],
  })
  const { code, lines } = await new Program(page, 'admin.ts').ended()
  expect({ code, lines: lines.slice(-2) }).toEqual({ code: 0, lines: ['0 dead', '2 cancelled'] })
  expect(lines).toContain('send_email 1 0')
  worker.process.kill('SIGTERM')
  expect(await stopped).toEqual({ code: 0, lines: ['starting send_email', 'starting export'] })
})

test('the programs of the page for users of BullMQ', async () => {
  const [, page = ''] = pages
  const worker = new Program(page, 'worker.ts')
  const stopped = worker.ended()
  expect(await new Program(page, 'producer.ts').ended()).toEqual({
    code: 0,
    lines: [
      'painted with red paint in attempt 2',
      'true',
      'dead: Error: there is nothing to paint',
      'renovated',
      'replaced',
      '4 done',
      '1 retried',
    ],
  })
  worker.process.kill('SIGTERM')
  const { code, lines } = await stopped
  expect({ code, lines: lines.slice(0, 5) }).toEqual({
    code: 0,
    lines: ['paint is done', 'paint is dead', 'paint is done', 'paint is done', 'renovate is done'],
  })
})

const onFile = {
  'coming-from-temporal/main.ts': ["[ 'approval' ]", 'Hello, Temporal!'],
  'coming-from-agenda/main.ts': ["[ 'report for ada@example.com', 'users before 2020' ]"],
  'coming-from-inngest-and-trigger-dev/main.ts': [
    "2 [ 'welcome ada@example.com', 'subscribed ada@example.com' ]",
    "[ 'customer' ]",
  ],
  'machines/run.ts': [expect.stringMatching(/^https:\/\/example\.com\/Tea\?key=/)],
}

const runTwice = async (path: string, env: NodeJS.ProcessEnv): Promise<readonly unknown[]> => {
  const [page = '', file = ''] = path.split('/')
  return [await new Program(page, file, env).ended(), await new Program(page, file, env).ended()]
}

plainTest.each(Object.entries(onFile))('the program %s, twice on one file', async (path, lines) => {
  const run = { code: 0, lines }
  expect(await runTwice(path, {})).toEqual([run, run])
})

const onPostgres = {
  'coming-from-pg-boss/main.ts': ['true sent to ada@example.com'],
  'coming-from-graphile-worker/main.ts': ["[ 'Hello, Bobby Tables' ] [ 'Hello, Bobby Tables' ]"],
}

plainTest.skipIf(!canStartPostgres).each(Object.entries(onPostgres))('the program %s, twice', async (path, lines) => {
  const schema = path.replaceAll(/\W/g, '_')
  const run = { code: 0, lines }
  expect(await runTwice(path, { DATABASE_URL: `${postgres().url}?schema=${schema}` })).toEqual([run, run])
})
