/** A group of failures from near. */
import { createRuntime, defineJob, fatal } from 'jobchart'
import { createDashboard, redactKeys, type DashboardOptions, type Redact } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import type { FailureView } from '../../src/dashboard/failure-view.ts'

const mail = defineJob<{ n: number }, void>({
  type: 'mail',
  run: async ({ n }) => {
    throw fatal(new Error(`no answer for cus_${n}`))
  },
})

/** Jobs of two tenants that have died. */
async function died(redact?: Redact) {
  const runtime = createRuntime({ jobs: [mail], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const one = (n: number, meta: Record<string, string | number>) => runtime.run(mail, { n }, { meta }).catch(() => {})
  for (let n = 0; n < 12; n++) await one(n, { tenant: n < 9 ? 'acme' : 'globex', customer: `cus_${n}`, shard: n % 2 })
  const dashboard = createDashboard({ runtime, ...(redact !== undefined && { redact }) })
  const call = (path: string): Promise<Response> => dashboard.fetch(new Request(`http://localhost/api/v1/${path}`))
  const { groups } = (await (await call('failures')).json()) as { groups: { fingerprint: string; message: string }[] }
  expect(groups).toHaveLength(1)
  const view = async (): Promise<FailureView> =>
    (await (await call(`failures/${groups[0]?.fingerprint}?type=mail`)).json()) as FailureView
  return { call, view, groups }
}

test('a group tells when its attempts failed, and what its jobs have in common', async () => {
  const { view, groups } = await died()
  expect(groups[0]?.message).toBe('no answer for cus_…')
  const { jobs, more, strip, meta, versions } = await view()
  expect([jobs, more, versions]).toEqual([12, false, []])
  expect(strip.failed.reduce((sum, each) => sum + each, 0)).toBe(12)
  // What has the fewest values tells most, and comes first.
  expect(meta.map(({ name }) => name)).toEqual(['tenant', 'shard', 'customer'])
  expect(meta[0]?.values).toEqual([
    { value: 'acme', jobs: 9 },
    { value: 'globex', jobs: 3 },
  ])
  expect(meta[1]?.values.toSorted((a, b) => Number(a.value) - Number(b.value))).toEqual([
    { value: 0, jobs: 6 },
    { value: 1, jobs: 6 },
  ])
  expect([meta[2]?.values.length, meta[2]?.others]).toEqual([8, 4])
})

test('what is hidden of meta is in no group', async () => {
  const { view } = await died(redactKeys(['tenant', 'message']))
  expect((await view()).meta.map(({ name }) => name)).toEqual(['tenant'])
})

test('a group that there is not is not found', async () => {
  const { call, groups } = await died()
  expect((await call('failures/nothing?type=mail')).status).toBe(404)
  expect((await call(`failures/${groups[0]?.fingerprint}?type=other`)).status).toBe(404)
  expect((await call(`failures/${groups[0]?.fingerprint}`)).status).toBe(400)
})

/** Jobs of one type that have died with two messages. */
async function diedTwice(options: Pick<DashboardOptions, 'authorize' | 'onAudit'> = {}) {
  const order = defineJob<{ n: number; why: string }, void>({
    type: 'order',
    run: async ({ why }) => {
      throw fatal(new Error(why))
    },
  })
  const runtime = createRuntime({ jobs: [order], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  for (const [n, why] of ['no answer', 'no answer', 'connection refused', 'no money'].entries()) {
    await runtime.run(order, { n, why }, { id: `order-${n}`, meta: { n } }).catch(() => {})
  }
  const dashboard = createDashboard({ runtime, ...options })
  const get = async <Answer>(path: string): Promise<Answer> =>
    (await (await dashboard.fetch(new Request(`http://localhost/api/v1/${path}`))).json()) as Answer
  const post = (path: string, body: object): Promise<Response> =>
    dashboard.fetch(
      new Request(`http://localhost/api/v1/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-jobchart': '1' },
        body: JSON.stringify(body),
      }),
    )
  const groups = async () =>
    (
      await get<{ groups: { fingerprint: string; fingerprints: string[]; message: string; dead: number }[] }>(
        'failures',
      )
    ).groups
  return { runtime, get, post, groups }
}

test('groups with one cause are merged by hand, told as one with the jobs of both, and split again', async () => {
  const audited: unknown[] = []
  const { runtime, get, post, groups } = await diedTwice({
    onAudit: ({ action, target }) => void audited.push([action, target]),
  })
  const before = await groups()
  expect(before.map(({ message, dead }) => [message, dead])).toEqual([
    ['no money', 1],
    ['connection refused', 1],
    ['no answer', 2],
  ])
  const [, refused = '', unanswered = ''] = before.map(({ fingerprint }) => fingerprint)
  const merged = { type: 'order', fingerprints: [unanswered, refused] }
  expect((await post('failures/merge', merged)).status).toBe(200)
  expect(audited).toEqual([['merge', merged]])
  const [, both, ...others] = await groups()
  expect([both?.message, both?.dead, both?.fingerprints, others]).toEqual(['no answer', 3, [unanswered, refused], []])
  expect((await get<FailureView>(`failures/${unanswered}?type=order`)).jobs).toBe(3)
  const found = await runtime.list({ failure: both?.fingerprints ?? [], type: 'order' })
  expect(found.map(({ id }) => id)).toEqual(['order-0', 'order-1', 'order-2'])
  const query = new URLSearchParams({ type: 'order' })
  for (const each of merged.fingerprints) query.append('failure', each)
  expect((await get<{ jobs: unknown[] }>(`jobs?${query.toString()}`)).jobs).toHaveLength(3)
  const [hit] = (await get<{ hits: { jobs: number; filter: object }[] }>('find?text=no%20answer')).hits
  expect(hit).toMatchObject({ jobs: 3, filter: { type: 'order', failure: merged.fingerprints } })
  await post('failures/split', { type: 'order', fingerprints: [refused] })
  expect(await groups()).toEqual(before)
})

test('a merge of what is no list of groups is refused, and one by a reader', async () => {
  const { post, groups } = await diedTwice()
  const [first] = await groups()
  for (const body of [
    {},
    { type: 'order', fingerprints: [first?.fingerprint] },
    { type: 7, fingerprints: ['a', 'b'] },
  ]) {
    const response = await post('failures/merge', body)
    const { error } = (await response.json()) as { error: { code: string } }
    expect([response.status, error.code]).toEqual([400, 'INVALID_OPTION'])
  }
  const reader = await diedTwice({ authorize: () => 'read' })
  expect((await reader.post('failures/merge', { type: 'order', fingerprints: ['a', 'b'] })).status).toBe(403)
})
