/** Changes of all that match, through the API: bulk operations. */
import { expect, test } from 'vitest'
import type { AuditEntry } from 'jobchart/dashboard'
import { called, deadEmails } from './world.ts'

test('a change of all that match is answered when it has begun, listed with its progress, and stopped', async () => {
  const world = await deadEmails()
  const audited: AuditEntry[] = []
  const { get, post } = await called({ onAudit: (entry) => audited.push(entry) }, async () => world.runtime)
  const listed = async () => (await get<{ operations: { id: string }[] }>('/bulk')).operations
  expect(await listed()).toEqual([])
  const filter = { type: 'email.send', state: 'dead' }
  const begun = await (await post('/jobs/retry', { filter, expected: 1_000 })).json()
  const running = { kind: 'retry', filter, state: 'running', counts: { retried: 100 }, expected: 1_000, endedAt: null }
  expect(begun).toMatchObject({ operation: running })
  expect(await listed()).toEqual([(begun as { operation: object }).operation])
  expect(JSON.stringify(begun)).not.toMatch(/token|cursor|lease/)
  world.let(2)
  await expect.poll(listed).toMatchObject([{ counts: { retried: 300 } }])
  const id = (await listed())[0]?.id ?? ''
  expect(await (await post(`/bulk/${id}/stop`)).json()).toMatchObject({ operation: { id, state: 'stopped' } })
  expect((await post('/bulk/nobody/stop')).status).toBe(404)
  expect(audited.map(({ action, target }) => [action, target])).toEqual([
    ['retry', filter],
    ['stop', { bulk: id }],
    ['stop', { bulk: 'nobody' }],
  ])
  world.let(1)
})
