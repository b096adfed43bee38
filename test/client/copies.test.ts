/**
 * Two copies of a module, as a hot reload or two bundles load it: their definitions are the same, unless they say
 * otherwise.
 */
import { defineJob, exponential, fromJob } from 'jobchart'
import { expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { z } from 'zod'
import { world } from '../support/leaks.ts'

const run = async () => 'ran'
/** The body of a module: each call is one more load of it. */
const mail = (more: object = {}) =>
  defineJob<string, string>({
    type: 'mail',
    concurrencyKey: (to) => to,
    retry: { maxAttempts: 4, backoff: exponential({ base: '2s' }), retryIf: () => true },
    rateLimit: { limit: 5, per: '1s' },
    unique: { key: 'k', onConflict: 'follow' },
    onDead: async () => {},
    attemptTimeout: '30s',
    run: async (to) => `sent to ${to}`,
    ...more,
  })
const step = (name: string) => createMachine({ id: 'order', initial: name, states: { [name]: { type: 'final' } } })
const order = (name = 'done', more: object = {}) => defineJob({ type: 'order', machine: step(name), ...more })

test('a copy of a listed definition is the listed one, of a handler and of a machine', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [mail(), order()] })
  expect([worker.lists(mail()), worker.lists(order())]).toEqual([true, true])
  const handles = [await worker.enqueue(mail(), 'ada'), await worker.enqueue(order())]
  await clock.advance('1s')
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['sent to ada', undefined])
  expect((await worker.schedule('daily', '@daily', mail(), 'ada')).name).toBe('daily')
})

test('of several versions of a machine each may be passed as a copy', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [order('one'), order('two', { version: '2', weight: 3 })] })
  const handles = [await worker.enqueue(order('one')), await worker.enqueue(order('two', { version: '2', weight: 3 }))]
  await clock.advance('1s')
  expect((await Promise.all(handles.map((handle) => handle.record()))).map(({ version }) => version)).toEqual([
    '1',
    '2',
  ])
  await expect(worker.enqueue(order('two'))).rejects.toMatchObject({ code: 'UNKNOWN_TYPE' })
})

test.each<[difference: string, more: object]>([
  ['weight', { weight: 2 }],
  ['rateLimit', { rateLimit: { limit: 6, per: '1s' } }],
  ['perKey, concurrencyKey', { concurrencyKey: undefined }],
  ['retry.maxAttempts, retry.backoff, retry.retryIf', { retry: {} }],
  ['attemptTimeout', { attemptTimeout: '31s' }],
  ['unique', { unique: true }],
  ['onDead', { onDead: undefined }],
  ['onDead', { onDead: { run, attemptTimeout: '1s' } }],
  ['input', { input: z.string() }],
  ['run, batch.size, batch.wait', { run: undefined, batch: { size: 2, run: async () => [] } }],
])('a definition of the same type with another %s is refused with that reason', async (difference, more) => {
  const worker = await world().runtime({ jobs: [mail()] })
  expect([worker.lists(mail(more)), worker.lists(order())]).toEqual([false, false])
  await expect(worker.enqueue(mail(more), 'ada')).rejects.toMatchObject({
    code: 'UNKNOWN_TYPE',
    message: `\`jobs\` lists another definition of job type "mail" than the one passed: they differ in ${difference}`,
  })
})

test('a machine of another structure or version is refused, also for a child', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [order()] })
  const refused = { code: 'UNKNOWN_TYPE', message: expect.stringMatching(/differ in machine$/) as string }
  await expect(worker.enqueue(order('gone'))).rejects.toMatchObject(refused)
  await expect(worker.enqueue(order('done', { version: '2' }))).rejects.toMatchObject(refused)
  const parent = (child: ReturnType<typeof order>) =>
    defineJob({ type: 'parent', machine: createMachine({ invoke: { src: fromJob(child) } }) })
  await expect(runtime({ jobs: [parent(order('gone')), order()] })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await runtime({ jobs: [parent(order()), order()] })
})

test('a copy whose handler is written otherwise is taken, and warned about once: the listed handler runs', async () => {
  const { clock, runtime } = world()
  const warnings: unknown[] = []
  const logger = { warn: (message: string, fields?: object) => void warnings.push([message, fields]) }
  const worker = await runtime({ jobs: [mail()], logger })
  const edited = mail({ run: async (to: string) => `edited: ${to}` })
  const handle = await worker.enqueue(edited, 'ada')
  await worker.enqueue(edited, 'bob')
  await worker.enqueue(mail(), 'eve')
  await clock.advance('1s')
  expect(await handle.result()).toBe('sent to ada')
  expect(warnings).toEqual([
    [expect.stringContaining('handler is written otherwise'), { type: 'mail', hint: expect.any(String) as string }],
  ])
})
