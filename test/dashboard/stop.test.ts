/** A process with a dashboard ends when its runtime stops, whoever looks on; and its server holds what it says. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createRuntime, defineJob } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import { forkProgram } from '../harness/processes.ts'

const job = defineJob({ type: 'work', run: () => {} })

test.each(['listening', 'mounted'])(
  'SIGTERM ends a process whose dashboard is %s while a live stream is read',
  async (how) => {
    const child = forkProgram(new URL('stopping-process.ts', import.meta.url), [how])
    onTestFinished(() => void child.kill('SIGKILL'))
    const [url] = (await once(child, 'message')) as [string]
    const stream = await fetch(`${url}api/v1/events`)
    const reader = stream.body!.getReader()
    await reader.read()
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    // The stream ends, rather than breaks.
    for (let done = false; !done;) ({ done } = await reader.read().catch(() => ({ done: true })))
  },
)

test('a dashboard that listens ends with its runtime, and does not listen after it', async () => {
  const runtime = createRuntime({ jobs: [job], logger: {} })
  await runtime.start()
  const dashboard = createDashboard({ runtime, authorize: () => 'read' })
  const { url, close } = await dashboard.listen()
  expect((await fetch(`${url}api/v1/overview`)).status).toBe(200)
  await runtime.stop()
  await expect(fetch(url)).rejects.toThrow('fetch failed')
  await close()
  await close()
  await expect(dashboard.listen()).rejects.toMatchObject({ code: 'STOPPED' })
})

test('a connection that sends its headers slowly is cut after 10 s', async () => {
  const runtime = createRuntime({ jobs: [job], logger: {} })
  const { url, close } = await createDashboard({ runtime }).listen()
  onTestFinished(() => close())
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const before = performance.now()
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n')
  await once(socket.resume(), 'close')
  const tookMs = performance.now() - before
  expect(tookMs).toBeGreaterThan(9_000)
  expect(tookMs).toBeLessThan(15_000)
})

test('http and https are two origins', async () => {
  const runtime = createRuntime({ jobs: [job], logger: {} })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort' })))
  const { fetch: answer } = createDashboard({ runtime, authorize: () => 'admin' })
  const pause = async (own: string, origin: string, headers: Record<string, string> = {}): Promise<number> => {
    const init = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', origin, ...headers } }
    return (await answer(new Request(`${own}/api/v1/queues/work/pause`, init))).status
  }
  expect(await pause('https://jobs.example', 'https://jobs.example')).toBe(200)
  expect(await pause('https://jobs.example', 'http://jobs.example')).toBe(403)
  expect(await pause('http://jobs.example', 'https://jobs.example')).toBe(403)
  const proxied = { 'x-forwarded-proto': 'https' }
  expect(await pause('http://jobs.example', 'https://jobs.example', proxied)).toBe(200)
  expect(await pause('http://jobs.example', 'http://jobs.example', proxied)).toBe(403)
})
