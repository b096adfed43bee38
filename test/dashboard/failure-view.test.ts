/** A group of failures from near. */
import { createRuntime, defineJob, fatal } from 'jobchart'
import { createDashboard, redactKeys, type Redact } from 'jobchart/dashboard'
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
  expect(meta[1]?.values).toEqual([
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
  expect((await call(`failures/${groups[0]?.fingerprint}`)).status).toBe(404)
})
