/** A job is copied as a test in virtual time: the program that is generated really runs. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createDashboard, redactKeys, type DashboardOptions } from 'jobchart/dashboard'
import { createTestRuntime } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { jobs } from './replayed-jobs.ts'

async function world(options: Omit<DashboardOptions, 'runtime' | 'client'> = {}) {
  const { runtime, clock } = await createTestRuntime({ jobs, lease: '1d', logger: {} })
  onTestFinished(() => runtime.stop({ mode: 'abort' }).then(() => {}))
  const { fetch } = createDashboard({ runtime, authorize: () => 'read', ...options })
  const program = async (id: string) => {
    const response = await fetch(new Request(`http://localhost/api/v1/jobs/${encodeURIComponent(id)}/test`))
    return (await response.json()) as { readonly file: string; readonly program: string; readonly error?: object }
  }
  return { runtime, clock, program }
}

/** Runs a generated program beside its `jobs.ts`. */
async function run(program: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const folder = mkdtempSync(join(import.meta.dirname, 'generated-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'jobs.ts'), `export { jobs } from '../replayed-jobs.ts'\n`)
  writeFileSync(join(folder, 'life.test.ts'), program)
  const child = spawn(process.execPath, ['--conditions=@jobchart/source', join(folder, 'life.test.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => void child.once('close', resolve)),
  ])
  return { code, said: `${said}${errors}` }
}

test('a machine job is lived again by the program: events, timers, child jobs and their retries', async () => {
  const { runtime, clock, program } = await world()
  const job = await runtime.enqueueByName(
    'order',
    { amount: 7 },
    { id: 'order-1', tags: ['vip'], meta: { tenant: "o'hara" } },
  )
  await clock.advance('2h')
  const approval: { type: string; by: string; 'a "note"': string } = {
    type: 'APPROVE',
    by: 'ada',
    'a "note"': '*/ `${x}`',
  }
  await job.send(approval)
  await clock.advance('1h')
  const packed: { type: string } = { type: 'PACKED' }
  await job.send(packed)
  await clock.advance('1h')
  expect((await job.record()).machineStates).toEqual(['cooling'])
  const waiting = await program('order-1')
  expect(waiting.file).toBe('order-1.test.ts')
  expect(waiting.program).toMatch(`await job.send({"type":"APPROVE","by":"ada","a \\"note\\"":"*/ \`\${x}\`"})`)
  expect(waiting.program).toMatch('await clock.advance(7200000)')
  expect(waiting.program).not.toMatch('xstate.')
  await clock.advance('3h')
  expect((await job.record()).state).toBe('done')
  const ended = await program('order-1')
  const [first, second, other] = await Promise.all([
    run(waiting.program),
    run(ended.program),
    // A program that could not fail would prove nothing.
    run(ended.program.replace('"type":"PACKED"', '"type":"APPROVE"')),
  ])
  expect(first, first.said).toMatchObject({ code: 0 })
  expect(second, second.said).toMatchObject({ code: 0 })
  expect(other.code).not.toBe(0)
})

test('a plain job that died is a program that dies as well', async () => {
  const { runtime, clock, program } = await world()
  const job = await runtime.enqueueByName('mail', { to: 'nobody' }, { id: 'mail */ 1' })
  await clock.settle()
  expect((await job.record()).state).toBe('dead')
  const made = await program('mail */ 1')
  expect(made.file).toBe('mail-1.test.ts')
  const ran = await run(made.program)
  expect(ran, ran.said).toMatchObject({ code: 0 })
})

test('what is hidden is hidden in the program, and a job that is not there has none', async () => {
  const { runtime, clock, program } = await world({ redact: redactKeys([]) })
  const job = await runtime.enqueueByName('order', { amount: 4711 }, { id: 'order-1', tags: ['secret'] })
  await clock.settle()
  const approval: { type: string; by: string } = { type: 'APPROVE', by: 'ada' }
  await job.send(approval)
  await clock.settle()
  const made = await program('order-1')
  expect(made.program).toMatch('"by":"(hidden)"')
  expect(made.program).not.toMatch(/4711|secret|ada/)
  expect(await program('nothing')).toMatchObject({ error: { code: 'NOT_FOUND' } })
})
