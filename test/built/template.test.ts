/** `npm create jobchart`: the project that it makes has tests that pass, types, and a server that ends by SIGTERM. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { repositoryRoot as root } from '../support/tidy/repository.ts'

const create = join(root, 'examples/create-jobchart/create.js')
const env = { PATH: process.env['PATH'], NO_COLOR: '1' }

function project(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const path = join(folder.path, 'My Shop')
  expect(execFileSync(process.execPath, [create, path], { encoding: 'utf8', env })).toContain('npm install')
  mkdirSync(join(path, 'node_modules/@types'), { recursive: true })
  symlinkSync(root, join(path, 'node_modules/jobchart'))
  for (const name of ['xstate', 'rxjs', '@types/node', 'undici-types']) {
    symlinkSync(join(root, 'node_modules', name), join(path, 'node_modules', name))
  }
  return path
}

test('it makes a project in an empty folder only, whose tests and types pass', () => {
  const path = project()
  expect(JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))).toMatchObject({ name: 'my-shop' })
  expect(readFileSync(join(path, '.gitignore'), 'utf8')).toContain('*.db')
  expect(() => execFileSync(process.execPath, [create, path], { stdio: 'pipe', env })).toThrow('is not empty')
  expect(execFileSync(process.execPath, ['--test'], { cwd: path, encoding: 'utf8', env })).toMatch(/pass 2\n[^]*fail 0/)
  const tsc = join(root, 'node_modules/typescript-5.9/bin/tsc')
  execFileSync(process.execPath, [tsc, '--noEmit'], { cwd: path, stdio: 'inherit' })
})

test('its server takes an order, which is paid and shipped, and ends by SIGTERM', async () => {
  const path = project()
  const child = spawn(process.execPath, ['main.ts'], { cwd: path, env: { ...env, PORT: '0' } })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [said] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  const url = /http:\S+\/orders/.exec(said)?.[0] ?? said
  const post = async (address: string): Promise<unknown> => (await fetch(address, { method: 'POST' })).json()
  const { id } = (await post(url)) as { id: string }
  const look = async (): Promise<unknown> => (await fetch(`${url}/${id}`)).json()
  await expect.poll(look).toMatchObject({ state: 'waiting', in: ['awaitingPayment'] })
  await post(`${url}/${id}/PAY`)
  await expect.poll(look).toMatchObject({ state: 'done', output: { parcel: 'parcel of book' } })
  const statusOf = async (method: string, address: string): Promise<number> => (await fetch(address, { method })).status
  expect(await statusOf('GET', `${url}/none`)).toBe(404)
  expect(await statusOf('POST', `${url}/none/PAY`)).toBe(404)
  expect(await statusOf('POST', `${url}/${id}/PAY`)).toBe(409)
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
