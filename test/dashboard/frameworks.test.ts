/** The code with which docs/dashboard.md mounts the dashboard in a server, run as it stands there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { jsBlocks } from '../support/markdown-code.ts'
import { plainEnvironment } from '../support/plain-environment.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

// Inside the repository, so that `import 'jobchart'` finds us as a user's import finds the package.
const folder = join(repositoryRoot, 'test/dashboard/.frameworks')
const blocks = jsBlocks(readFileSync(join(repositoryRoot, 'docs/dashboard.md'), 'utf8'))

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, '.gitignore'), '*\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const dashboard = `
  import { createRuntime, defineJob } from 'jobchart'
  import { createDashboard } from 'jobchart/dashboard'
  const runtime = createRuntime({ jobs: [defineJob({ type: 'work', run: async () => {} })] })
  await runtime.start()
  const dashboard = createDashboard({ runtime })
`

interface Framework {
  /** What the block of the docs begins with. */
  readonly name: string
  /** A program around the block, which writes the port that it listens at. */
  readonly program: (block: string) => string
}

const frameworks: readonly Framework[] = [
  {
    name: 'Express',
    program: (block) => `
      import express from 'express'
      const app = express()
      ${block}
      const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))`,
  },
  {
    name: 'Express',
    program: (block) => `
      import express from 'express'
      const app = express()
      app.use(express.json())
      ${block}
      const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))`,
  },
  {
    name: 'Fastify',
    program: (block) => `
      import fastify from 'fastify'
      const app = fastify()
      ${block}
      await app.listen({ port: 0, host: '127.0.0.1' })
      console.log(app.server.address().port)`,
  },
  {
    name: 'Hono',
    program: (block) => `
      import { Hono } from 'hono'
      import { serve } from '@hono/node-server'
      const app = new Hono()
      ${block}
      serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(port))`,
  },
  {
    name: 'node:http',
    program: (block) => `
      import * as http from 'node:http'
      const createServer = (listener) => {
        const server = http.createServer(listener)
        server.listen(0, '127.0.0.1', () => console.log(server.address().port))
      }
      ${block}`,
  },
]

/** Runs the program of a framework until the test has ended. @returns the address that the dashboard has printed */
async function mounted({ name, program }: Framework, at: number): Promise<string> {
  const block = blocks.find((code) => code.startsWith(`// ${name}`))
  if (block === undefined) throw new Error(`docs/dashboard.md has no block for ${name}`)
  const file = join(folder, `server-${at}.mjs`)
  writeFileSync(file, dashboard + program(block))
  const child = spawn(process.execPath, ['--conditions=@jobchart/source', file], {
    env: plainEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const page = `http://127.0.0.1:${port.toString().trim()}/jobs/`
  const printed = once(child.stderr, 'data') as Promise<[Buffer]>
  expect((await fetch(page)).status).toBe(401)
  const address = /http:\S+/.exec((await printed)[0].toString())?.[0] ?? ''
  expect(address).toMatch(new RegExp(`^${page}token=[^/]+/$`))
  return address
}

test('every block of JavaScript is run', () => {
  const isRun = (block: string): boolean => frameworks.some(({ name }) => block.startsWith(`// ${name}`))
  expect(blocks.filter((block) => !isRun(block))).toEqual([])
})

test.each(frameworks.map((framework, at) => ({ ...framework, at })))(
  'the code for $name ($at) serves the page, its API, changes and the live stream',
  async (framework) => {
    const url = await mounted(framework, framework.at)
    const page = await (await fetch(url)).text()
    const withoutSlash = new URL(url).pathname.replace(/\/token=.*$/, '')
    // The answer is that of the dashboard, and no missing route.
    expect((await fetch(new URL(withoutSlash, url))).status).not.toBe(404)
    const [, script] = /src="([^"]+\.js)"/.exec(page) ?? []
    expect((await fetch(new URL(script ?? 'nowhere', url))).headers.get('content-type')).toContain('javascript')
    expect(await (await fetch(`${url}api/v1`)).json()).toMatchObject({ role: 'admin' })
    const change = await fetch(`${url}api/v1/jobs/discard`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ids: ['nobody'] }),
    })
    expect(await change.json()).toMatchObject({ notFound: ['nobody'] })
    const live = await fetch(`${url}api/v1/events`)
    const { value } = await live.body!.getReader().read()
    expect(new TextDecoder().decode(value)).toMatch(/^(event|id|retry|:)/)
  },
)
