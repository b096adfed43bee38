/** A job and its children in time, as the API tells it. */
import { memoryStore } from 'jobchart'
import { createClient } from 'jobchart'
import { createDashboard, redactKeys } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import type { FamilyView } from '../../src/dashboard/family.ts'
import { longestTurn } from '../support/loop-probe.ts'
import { albums, putFamily } from './family-world.ts'
import { called, jobs } from './world.ts'

test('a family is told with stays, failed attempts, states of machines and the way to what has failed', async () => {
  const { get } = await called({}, albums)
  const { job, states, parent, children, next, failed } = await get<FamilyView>('/jobs/album-1/family')
  expect(job).toMatchObject({
    id: 'album-1',
    type: 'album',
    state: 'waiting',
    isMachine: true,
    isCut: false,
    errors: [],
  })
  expect(job.stays[0]).toMatchObject({ state: 'queued', attempt: 0 })
  expect(states.map((each) => each.states)).toEqual(['resizing', 'printing', 'review'])
  expect([parent, next]).toEqual([null, null])
  expect(children.map(({ type, state, isMachine }) => [type, state, isMachine])).toEqual([
    ['image.resize', 'done', false],
    ['image.resize', 'done', false],
    ['image.resize', 'done', false],
    ['book', 'dead', true],
  ])
  const retried = children.find(({ errors }) => errors.length === 2)
  expect(retried?.errors.map(({ attempt, text }) => [attempt, text])).toEqual([
    [1, 'Error: the disk of image-1 is busy'],
    [2, 'Error: the disk of image-1 is busy'],
  ])
  expect(retried?.stays.map(({ state }) => state)).toEqual([
    'queued',
    'running',
    'retrying',
    'queued',
    'running',
    'retrying',
    'queued',
    'running',
    'done',
  ])
  expect(failed.map(({ type }) => type)).toEqual(['book', 'page.print'])
  const below = await get<FamilyView>(`/jobs/${encodeURIComponent(failed[0]?.id ?? '')}/family`)
  expect(below.parent?.id).toBe('album-1')
  expect(below.children.map(({ id }) => id)).toEqual([failed[1]?.id])
})

test('texts of errors are redacted in a family', async () => {
  const { call } = await called({ redact: redactKeys([]) }, albums)
  const text = await (await call('/api/v1/jobs/album-1/family')).text()
  expect(text).toMatch('Error: (hidden)')
  expect(text).not.toMatch(/busy|paper/)
})

test('a family is read page by page, and later children follow the last one that is known', async () => {
  const store = memoryStore()
  onTestFinished(() => store.close())
  await putFamily(store, 1_203)
  const client = createClient({ store })
  const { fetch } = createDashboard({ client, authorize: () => 'read' })
  const get = async (query: string): Promise<FamilyView> =>
    (await (await fetch(new Request(`http://localhost/api/v1/jobs/parent-1/family?${query}`))).json()) as FamilyView
  const ids: string[] = []
  let after: string | null = ''
  while (after !== null) {
    const { children, next }: FamilyView = await get(`limit=500&after=${after}`)
    ids.push(...children.map(({ id }) => id))
    after = next
  }
  expect(ids).toEqual(Array.from({ length: 1_203 }, (_, i) => `child-${i}`))
  expect(await get('after=child-1202')).toMatchObject({ children: [], next: null, failed: [] })
  expect((await get('')).children.length).toBe(200)
  expect(await get('limit=0')).toMatchObject({ job: { id: 'parent-1' }, children: [] })
  for (const limit of ['501', '-1', '1.5', 'x']) {
    expect(await get(`limit=${limit}`), limit).toMatchObject({ error: { code: 'INVALID_OPTION' } })
  }
})

test('a page of a family does not hold up the jobs of its process', async () => {
  const store = memoryStore()
  onTestFinished(() => store.close())
  await putFamily(store, 2_000)
  const { fetch } = createDashboard({ client: createClient({ store }), authorize: () => 'read' })
  const read = async (): Promise<void> => {
    const reader = (
      await fetch(new Request('http://localhost/api/v1/jobs/parent-1/family?limit=500'))
    ).body?.getReader()
    while ((await reader?.read())?.done === false);
  }
  await read()
  const turns = [await longestTurn(read), await longestTurn(read), await longestTurn(read)]
  expect(Math.min(...turns)).toBeLessThan(10)
})

test('a job that does not exist has no family', async () => {
  const { get } = await called({}, jobs)
  expect(await get('/jobs/nothing/family')).toMatchObject({ error: { code: 'NOT_FOUND' } })
  expect(await get('/jobs/dead-1/family')).toMatchObject({
    job: { state: 'dead' },
    children: [],
    next: null,
    states: [],
  })
})
