/** The text of a document has what makes a job another than most. */
import { expect, onTestFinished } from 'vitest'
import { postgresStore } from 'jobchart/postgres'
import { newJob, put, takeOne } from '../../../src/store-testing/conformance/acts.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()

async function textOf(schema: string, id: string): Promise<Record<string, unknown>> {
  const [row] = await server().query(`SELECT doc FROM ${schema}.jobs WHERE id = '${id}'`)
  return JSON.parse(row?.['doc'] as string) as Record<string, unknown>
}

test('what most jobs have is left out, and an input that looks like it is not', async () => {
  const store = postgresStore({ url: server().url, schema: 'short' })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  await put(store, newJob('a', { concurrencyKey: 'k', input: {} }), newJob('b', { concurrencyKey: 'k', input: [] }))
  const { seq, place, lastSeq, ...text } = await textOf('short', 'a')
  expect([seq, place, lastSeq]).toEqual([9e15, 9e15, 9e15])
  expect(text).toEqual({
    rev: 1,
    id: 'a',
    type: 'mail',
    state: 'queued',
    attempt: 0,
    maxAttempts: 3,
    enqueuedAt: expect.any(Number) as number,
    concurrencyKey: 'k',
    input: {},
    history: [],
  })
  const [first] = await store.get(['a'])
  expect(first).toMatchObject({ input: {}, priority: 0, generation: 1, tags: [], errors: [], meta: {}, inbox: [] })
  expect((await takeOne(store, { token: 't1', max: 1 })).input).toEqual({})
  expect(await textOf('short', 'a')).toMatchObject({
    token: 't1',
    state: 'running',
    wakeAt: expect.any(Number) as number,
  })
  expect((await takeOne(store, { token: 't2', max: 1 })).input).toEqual([])
})
