/** A stop while the server does not answer: it returns within its timeout and a second, and its process ends then. */
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { forkProgram } from '../harness/processes.ts'
import { redisServer, type RedisServer } from '../support/redis-process.ts'
import { redisTest } from '../support/redis-server.ts'

const timeoutMs = 500
/** What a process takes to end when nothing keeps it, on a busy computer. */
const exitMs = 1_000

const hold = (server: RedisServer): Promise<unknown> => server.command('CLIENT', 'PAUSE', '30000', 'ALL')

redisTest.for([
  ['is held', 'runs', hold],
  ['is killed', 'runs', (server: RedisServer) => server.kill()],
  ['is held, and the worker still starts', 'starts', hold],
] as const)('a stop ends in time while the server %s', async ([, moment, harm]) => {
  const server = await redisServer()
  onTestFinished(() => server.remove())
  const isBefore = moment === 'starts'
  if (isBefore) await harm(server)
  const child = forkProgram(new URL('redis/stopping-child.ts', import.meta.url), [server.url])
  onTestFinished(() => void child.kill('SIGKILL'))
  const told: unknown[] = []
  child.on('message', (message) => told.push(message))
  await expect.poll(() => told, { interval: 20 }).toContain(moment)
  if (!isBefore) await harm(server)
  const exit = once(child, 'exit')
  const startedAt = performance.now()
  child.kill('SIGTERM')
  const [code] = (await exit) as [number | null]
  const exitedMs = performance.now() - startedAt
  const { tookMs } = told.at(-1) as { tookMs: number }
  expect(code).toBe(0)
  expect(tookMs).toBeLessThan(timeoutMs + 1_000)
  expect(exitedMs, `the stop took ${Math.round(tookMs)} ms`).toBeLessThan(timeoutMs + 1_000 + exitMs)
})
