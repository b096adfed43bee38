/**
 * docs/dashboard-api.json says what the API answers: every route is in it, every path of it is a route, and answers are
 * as it says.
 */
import { readFileSync } from 'node:fs'
import { createRuntime } from 'jobchart'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { dashboardSettings } from '../../src/dashboard/options.ts'
import { routes } from '../../src/dashboard/routes.ts'
import type { JobRecord } from './shapes.ts'
import { albums } from './family-world.ts'
import { called, email, jobs, reviews } from './world.ts'

type Schema = z.core.JSONSchema.JSONSchema
interface Answer {
  readonly content: Readonly<Record<string, { readonly schema: Schema }>>
}
interface Operation {
  readonly requestBody?: Answer
  readonly responses: Readonly<Record<string, Answer>>
}

const { paths, components } = JSON.parse(
  readFileSync(new URL('../../docs/dashboard-api.json', import.meta.url), 'utf8').replaceAll(
    '#/components/schemas/',
    '#/$defs/',
  ),
) as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const validator = (schema: Schema): z.ZodType => z.fromJSONSchema({ ...schema, $defs: components.schemas })

const schemaOf = (path: string, method: string): Schema =>
  paths[path]?.[method]?.responses['200']?.content['application/json']?.schema ?? { not: {} }

test('every route is described, and what is described is a route', () => {
  const runtime = createRuntime({ jobs: [], logger: {} })
  const { app } = routes(dashboardSettings({ runtime }), () => '')
  const served = app.routes
    .filter(({ path }) => path.startsWith('/api/v1'))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(described.toSorted()).toEqual(served.toSorted())
})

test('each parameter in a path is described', () => {
  for (const [path, methods] of Object.entries(paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const operation of Object.values(methods)) {
      const { parameters = [] } = operation as { parameters?: { name: string; in: string }[] }
      expect(
        parameters.filter((each) => each.in === 'path').map(({ name }) => name),
        path,
      ).toEqual(named)
    }
  }
})

test('what GET answers is as described', async () => {
  const plain = await called({}, jobs)
  await plain.runtime.schedule('nightly', '0 3 * * *', email, { to: 'ops' })
  const { groups } = await plain.get<{ groups: { fingerprint: string }[] }>('/failures')
  const fingerprint = groups[0]?.fingerprint
  const machine = await called({}, reviews)
  const { checkpoints } = await machine.get<{ job: JobRecord; checkpoints: { seq: number }[] }>('/jobs/review-1')
  const family = await called({}, albums)
  const bulk = await called({}, jobs)
  await bulk.runtime.bulk.run({ kind: 'discard', filter: { state: 'done' }, expected: 2 })
  const asked: readonly (readonly [typeof plain, string, string])[] = [
    [plain, '/api/v1', ''],
    [plain, '/api/v1/overview', '/overview'],
    [plain, '/api/v1/trouble', '/trouble'],
    [plain, '/api/v1/workers', '/workers'],
    [plain, '/api/v1/activity', '/activity?period=hour&last=2d'],
    [plain, '/api/v1/failures', '/failures?limit=5'],
    [plain, '/api/v1/failures/{fingerprint}', `/failures/${fingerprint}?type=email.send`],
    [plain, '/api/v1/find', '/find?text=tenant-7'],
    [plain, '/api/v1/find', '/find?text=dead-77'],
    [plain, '/api/v1/find', '/find?text=TENANT-7'],
    [plain, '/api/v1/find', '/find?text=nightl'],
    [plain, '/api/v1/queues/{type}', '/queues/email.send'],
    [plain, '/api/v1/queues/{type}/activity', '/queues/email.send/activity'],
    [plain, '/api/v1/jobs', '/jobs'],
    [plain, '/api/v1/jobs', '/jobs?limit=1'],
    [plain, '/api/v1/jobs/count', '/jobs/count'],
    [plain, '/api/v1/jobs/{id}', '/jobs/dead-1'],
    [machine, '/api/v1/jobs/{id}', '/jobs/review-1'],
    [machine, '/api/v1/jobs/{id}/checkpoints/{seq}', `/jobs/review-1/checkpoints/${checkpoints[0]?.seq}`],
    [family, '/api/v1/jobs/{id}/family', '/jobs/album-1/family'],
    [family, '/api/v1/jobs/{id}/test', '/jobs/album-1/test'],
    [bulk, '/api/v1/bulk', '/bulk'],
    [plain, '/api/v1/schedules', '/schedules'],
    [plain, '/api/v1/charts', '/charts'],
  ]
  for (const [{ get }, path, address] of asked) {
    expect(validator(schemaOf(path, 'get')).safeParse(await get(address)).error, address).toBe(undefined)
  }
  const problem = await plain.get('/jobs/nothing')
  expect(validator({ $ref: '#/$defs/Problem' }).safeParse(problem).error).toBe(undefined)
  expect(validator(schemaOf('/api/v1/jobs', 'get')).safeParse(problem).success).toBe(false)
})

test('what POST takes and answers is as described', async () => {
  const plain = await called({}, jobs)
  await plain.runtime.schedule('nightly', '0 3 * * *', email, { to: 'ops' })
  const machine = await called({}, reviews)
  const { checkpoints } = await machine.get<{ checkpoints: { seq: number }[] }>('/jobs/review-1')
  const bulk = await called({}, jobs)
  const { id } = await bulk.runtime.bulk.run({ kind: 'cancel', filter: { type: 'order' }, reason: 'x' })
  const asked: readonly (readonly [typeof plain, string, string, object])[] = [
    [plain, '/api/v1/queues/{type}/pause', '/queues/email.send/pause', {}],
    [plain, '/api/v1/queues/{type}/resume', '/queues/email.send/resume', {}],
    [plain, '/api/v1/jobs/{id}/retry', '/jobs/dead-1/retry', { from: 'start' }],
    [plain, '/api/v1/jobs/cancel', '/jobs/cancel', { filter: { type: ['order'] }, reason: 'by hand' }],
    [plain, '/api/v1/jobs/retry', '/jobs/retry', { ids: ['order-1', 'nothing'] }],
    [plain, '/api/v1/jobs/discard', '/jobs/discard', { filter: { state: 'done' }, expected: 2 }],
    [bulk, '/api/v1/bulk/{id}/stop', `/bulk/${id}/stop`, {}],
    [plain, '/api/v1/schedules/{name}/pause', '/schedules/nightly/pause', {}],
    [plain, '/api/v1/schedules/{name}/resume', '/schedules/nightly/resume', {}],
    [plain, '/api/v1/schedules/{name}/trigger', '/schedules/nightly/trigger', {}],
    [machine, '/api/v1/jobs/{id}/fork', '/jobs/review-1/fork', { seq: checkpoints[0]?.seq }],
    [machine, '/api/v1/jobs/{id}/send', '/jobs/review-1/send', { event: { type: 'APPROVE', by: 'ada', urgent: true } }],
  ]
  for (const [{ post }, path, address, body] of asked) {
    const taken = paths[path]?.['post']?.requestBody?.content['application/json']?.schema ?? { not: {} }
    expect(validator(taken).safeParse(body).error, address).toBe(undefined)
    const response = await post(address, body)
    expect(response.status, address).toBe(200)
    expect(validator(schemaOf(path, 'post')).safeParse(await response.json()).error, address).toBe(undefined)
  }
})
