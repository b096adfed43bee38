/** What the API shows of machine jobs beyond their present: the past, forks, timers, and the fields of events. */
import { defineJob, type CheckpointEntry, type Json } from 'jobchart'
import { redactKeys } from 'jobchart/dashboard'
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { z } from 'zod'
import { jsonSchemaOf } from '../../src/dashboard/event-schemas.ts'
import { eventFields, fieldsOf } from '../../src/dashboard/page/event-fields.ts'
import type { EventOfPast } from '../../src/dashboard/machine-shown.ts'
import { albums } from './family-world.ts'
import type { ShownJob } from './shapes.ts'
import { called, jobs, reviews } from './world.ts'

interface Past extends CheckpointEntry {
  nodes: string[]
  machine: NonNullable<ShownJob['machine']>
  events: EventOfPast[]
}

test('a checkpoint of the past is shown with its states, its context and its timers', async () => {
  const { get } = await called({}, reviews)
  const { checkpoints } = await get<ShownJob>('/jobs/review-1')
  expect(checkpoints.map(({ value, nodes }) => [value, nodes])).toEqual([
    ['asked', ['review.asked']],
    ['reminded', ['reminded']],
  ])
  const [asked, reminded] = await Promise.all(
    checkpoints.map(({ seq }) => get<Past>(`/jobs/review-1/checkpoints/${seq}`)),
  )
  expect(asked).toMatchObject({
    number: 1,
    note: 'start → asked',
    events: [{ words: 'start', from: 'start', data: {}, actor: null, job: null, to: '' }],
    machine: { states: ['asked'], context: { by: null, reminders: 0 }, events: [], timers: [{ label: 'after 2d' }] },
  })
  expect(reminded).toMatchObject({
    note: 'REMIND → reminded',
    machine: { context: { reminders: 1 } },
    events: [{ type: 'REMIND', words: 'REMIND', from: 'caller', data: {} }],
  })
  for (const seq of ['0', 'x', '1e9']) {
    expect(await get(`/jobs/review-1/checkpoints/${seq}`), seq).toMatchObject({ error: { code: 'NOT_FOUND' } })
  }
  expect(await get(`/jobs/nothing/checkpoints/1`)).toMatchObject({ error: { code: 'NOT_FOUND' } })
})

test('a checkpoint tells the events that led to it, with their data, and the child jobs that they came from', async () => {
  const { get, runtime } = await called({}, albums)
  const approval: { type: string; by: string } = { type: 'APPROVE', by: 'ada' }
  const job = (await runtime.job('album-1'))!
  await job.send(approval)
  await job.result()
  const { checkpoints } = await get<ShownJob>('/jobs/album-1')
  const lived = []
  for (const { seq } of checkpoints) lived.push(...(await get<Past>(`/jobs/album-1/checkpoints/${seq}`)).events)
  expect(lived.map(({ words, from }) => [words, from])).toEqual([
    ['start', 'start'],
    ...Array.from({ length: 3 }, () => [expect.stringMatching(/^image\.[012] done$/), 'actor']),
    ['book failed', 'actor'],
    ['APPROVE', 'caller'],
  ])
  expect(lived.at(-1)).toMatchObject({ type: 'APPROVE', data: { by: 'ada' }, actor: null, job: null })
  const [book] = await runtime.list({ parent: 'album-1', type: 'book' })
  expect(lived.at(-2)).toMatchObject({ actor: 'book', job: book?.id, data: { error: { name: 'JobDeadError' } } })
  const images = await runtime.list({ parent: 'album-1', type: 'image.resize' })
  const jobsOfImages = new Set(lived.slice(1, 4).map((each) => each.job))
  expect(jobsOfImages).toEqual(new Set(images.map(({ id }) => id)))
})

test('data of events is redacted as events in the inbox are', async () => {
  const { get, runtime } = await called({ redact: redactKeys(['images']) }, albums)
  const approval: { type: string; by: string } = { type: 'APPROVE', by: 'ada' }
  const job = (await runtime.job('album-1'))!
  await job.send(approval)
  await job.result()
  const { checkpoints } = await get<ShownJob>('/jobs/album-1')
  const { events } = await get<Past>(`/jobs/album-1/checkpoints/${checkpoints.at(-1)?.seq}`)
  expect(events).toMatchObject([{ words: 'APPROVE', data: { by: '(hidden)' } }])
})

test('a job is forked from a checkpoint, which is audited, and only by an admin', async () => {
  const told: unknown[] = []
  const { get, post, runtime } = await called(
    {
      authorize: ({ headers }) => (headers.get('x-role') === 'admin' ? 'admin' : 'read'),
      onAudit: ({ action, target, outcome }) => void told.push([action, target, outcome]),
    },
    reviews,
  )
  const { checkpoints } = await get<ShownJob>('/jobs/review-1')
  const seq = checkpoints[0]?.seq
  const fork = (body: object, role = 'admin') => post('/jobs/review-1/fork', body, { 'x-role': role })
  expect((await fork({ seq }, 'nobody')).status).toBe(403)
  for (const body of [{}, { seq: '1' }, { seq: 1.5 }]) expect((await fork(body)).status).toBe(400)
  expect((await fork({ seq: 0 })).status).toBe(404)
  const forked = await fork({ seq, id: 'review-2' })
  expect(await forked.json()).toEqual({ forked: 'review-1', seq, job: 'review-2' })
  expect(await (await runtime.job('review-2'))!.waitFor('asked')).toMatchObject({ context: { reminders: 0 } })
  expect((await runtime.job('review-1'))!).toMatchObject({ id: 'review-1' })
  expect(told).toMatchObject([
    ['fork', 'review-1', { code: 'READ_ONLY' }],
    ['fork', 'review-1', { code: 'NOT_FOUND' }],
    ['fork', 'review-1', { job: 'review-2' }],
  ])
})

test('the timers of a machine are shown with when they are due, by the events of their transitions', async () => {
  const { get, runtime } = await called({}, reviews)
  const { machine } = await get<ShownJob>('/jobs/review-1')
  expect(machine?.timers).toEqual([{ event: 'xstate.after.3h.reminded', label: 'after 3h', at: expect.any(Number) }])
  const left = (machine?.timers[0]?.at ?? 0) - runtime.store.now()
  expect(left).toBeGreaterThan(10_790_000)
  expect(left).toBeLessThanOrEqual(10_800_000)
  const svg = await (await called({}, reviews)).call('/api/v1/charts/machine.svg?job=review-1')
  expect(await svg.text()).toMatch('data-event="xstate.after.3h.reminded"')
})

test('what is redacted of a context is redacted of the past, too, and notes are left out', async () => {
  const { call, get } = await called({ redact: (job) => ({ ...job, checkpoint: null }) }, reviews)
  const { checkpoints } = await get<ShownJob>('/jobs/review-1')
  for (const { seq } of checkpoints) {
    expect(await (await call(`/api/v1/jobs/review-1/checkpoints/${seq}`)).text()).not.toMatch(/reminders|REMIND →/)
  }
})

test('an event has the JSON Schema of its Standard Schema, if that gives one', async () => {
  const { get } = await called({}, reviews)
  const { machine } = await get<ShownJob>('/jobs/review-1')
  expect(machine?.events).toMatchObject([
    {
      type: 'APPROVE',
      schema: { type: 'object', required: ['by', 'urgent'], properties: { by: { enum: ['ada', 'bob'] } } },
    },
  ])
  expect(jsonSchemaOf(z.object({ at: z.string().transform(Number) }))).toMatchObject({ type: 'object' })
  expect(jsonSchemaOf(z.object({ at: z.custom<Date>() }))).toBe(null)
  expect(jsonSchemaOf({ '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } })).toBe(null)
  expect(jsonSchemaOf(z.object({ long: z.string().describe('x'.repeat(70_000)) }))).toBe(null)
})

test('a form has a field for each property of a schema, and makes the event that the schema takes', () => {
  const schema = z.object({
    by: z.enum(['ada', 'bob']),
    amount: z.int().min(1).max(9).optional(),
    note: z.string().max(20).default('none'),
    mail: z.email(),
    urgent: z.boolean(),
    lines: z.array(z.object({ id: z.string() })),
    kind: z.literal('order'),
  })
  const fields = fieldsOf(jsonSchemaOf(schema)) ?? []
  expect(fields).toMatchObject([
    { name: 'by', kind: 'choice', choices: ['ada', 'bob'], required: true, initial: '' },
    { name: 'amount', kind: 'number', step: '1', min: 1, max: 9, required: false },
    { name: 'note', kind: 'text', input: 'text', max: 20, initial: 'none', required: false },
    { name: 'mail', kind: 'text', input: 'email' },
    { name: 'urgent', kind: 'flag', initial: false },
    { name: 'lines', kind: 'json', required: true },
    { name: 'kind', kind: 'choice', choices: ['order'], initial: '"order"' },
  ])
  const filled = eventFields(fields, { by: '"ada"', mail: 'a@b.org', lines: '[{"id":"x"}]', urgent: true, amount: '3' })
  expect(filled).toEqual({
    by: 'ada',
    amount: 3,
    note: 'none',
    mail: 'a@b.org',
    urgent: true,
    lines: [{ id: 'x' }],
    kind: 'order',
  })
  expect(schema.parse(filled)).toEqual(filled)
  expect(eventFields(fields, { mail: '' })).toEqual({ note: 'none', mail: '', urgent: false, kind: 'order' })
  expect(() => eventFields(fields, { lines: '[' })).toThrow('lines is not JSON')
  for (const other of [null, {}, { type: 'string' }, { type: 'object' }] as Json[]) expect(fieldsOf(other)).toBe(null)
})

test('the page shows a machine whose schema cannot be turned into fields with a field for JSON', async () => {
  const machine = setup({}).createMachine({ initial: 'a', states: { a: { on: { GO: 'b' } }, b: { type: 'final' } } })
  const { eventSchemas } = defineJob({ type: 'x', machine, events: { GO: z.custom<object>() } })
  expect(fieldsOf(jsonSchemaOf(eventSchemas?.['GO'] ?? z.never()))).toBe(null)
})

test('an event that waits for a state is shown with its job, and how machines end on the overview', async () => {
  const { runtime, get } = await called({}, jobs)
  await runtime.send('order-1', { type: 'PAID', by: 'card' }, { accept: 'later', key: 'paid' })
  await expect.poll(async () => (await get<ShownJob>('/jobs/order-1')).job.deferred).toEqual([1])
  const { job } = await get<ShownJob>('/jobs/order-1')
  expect(job).toMatchObject({
    state: 'waiting',
    inbox: [{ number: 1, message: { event: { type: 'PAID', by: 'card' } } }],
  })
  await runtime.send('order-1', { type: 'APPROVE' })
  await (await runtime.job('order-1'))?.result()
  const { queues } = await get<{ queues: { type: string; outcomes: object }[] }>('/overview')
  expect(queues.map(({ type, outcomes }) => [type, outcomes])).toEqual([
    ['email.send', {}],
    ['order', { shipped: 1 }],
  ])
  expect((await get<ShownJob>('/jobs/order-1')).job).toMatchObject({
    deferred: [],
    logs: [{ message: 'an event was dropped: the machine has ended: PAID' }],
  })
})
