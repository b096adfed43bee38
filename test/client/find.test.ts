/** `client.find` on every store: with indexes, and without. */
import { createClient, createRuntime, memoryStore, type Client, type FindHit, type Store } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { redisStore } from 'jobchart/redis'
import { expect, onTestFinished, test } from 'vitest'
import { put, newJob, take, lease } from '../../src/store-testing/conformance/acts.ts'
import { order } from '../dashboard/world.ts'
import { fileStore } from '../support/file-store.ts'
import { canStartPostgres, postgresOfFile } from '../support/postgres-server.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'

const server = postgresOfFile()
const redis = serverOfFile()
let schemas = 0
const stores: Readonly<Record<string, () => Store>> = {
  memory: memoryStore,
  SQLite: fileStore,
  ...(canStartPostgres && {
    PostgreSQL: () => postgresStore({ url: server().url, schema: `find_${++schemas}` }),
  }),
  ...(canStartRedis && { Redis: () => redisStore({ url: redis().url, prefix: `find-${++schemas}` }) }),
}
/** What a store has no index of. */
const unindexed: Readonly<Record<string, readonly string[]>> = {
  memory: ['job', 'key', 'meta', 'tag', 'concurrencyKey'],
  SQLite: [],
  PostgreSQL: [],
  Redis: ['job'],
}

const told = ({ kind, name, value, jobs, exact }: FindHit) => [kind, name, value, jobs, exact]

/** A client of a shop with two customers. */
async function shop(store: Store): Promise<Client> {
  const client = createClient({ jobs: [order], store, logger: {} })
  onTestFinished(() => client.close())
  await client.counts()
  await put(
    store,
    newJob('mail-1', { meta: { customer: 'cus_9', tenant: 7 }, tags: ['eu', 'vip'], key: 'welcome' }),
    newJob('mail-2', { meta: { customer: 'cus_91', tenant: 7, note: 'x'.repeat(300) }, tags: ['eu'] }),
    newJob('mail-3', { meta: { customer: 'cus_9', tenant: '7' }, concurrencyKey: 'acme' }),
    newJob('sms-1', { type: 'sms.send' }),
  )
  const [job] = await take(store, { type: 'sms.send' })
  if (job === undefined) throw new Error('no job was claimed')
  const error = { name: 'SmtpError', message: '550 mailbox 17 unavailable', code: 'EGONE' }
  await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error }])
  return client
}

for (const [name, create] of Object.entries(stores)) {
  test(`ids, keys, tags and meta are found by their beginning, ${name}`, async () => {
    const client = await shop(create())
    const hits = async (text: string) => (await client.find(text)).hits.map(told)
    expect(await hits('cus_9')).toEqual([
      ['meta', 'customer', 'cus_9', 2, true],
      ['meta', 'customer', 'cus_91', 1, false],
    ])
    expect(await hits('mail-1')).toEqual([['job', null, 'mail-1', 1, true]])
    expect(await hits('mail-')).toEqual([
      ['job', null, 'mail-1', 1, false],
      ['job', null, 'mail-2', 1, false],
      ['job', null, 'mail-3', 1, false],
    ])
    expect(await hits('welc')).toEqual([['key', null, 'welcome', 1, false]])
    expect(await hits('vip')).toEqual([['tag', null, 'vip', 1, true]])
    expect(await hits('acme')).toEqual([['concurrencyKey', null, 'acme', 1, true]])
    // A number and a text of meta are two.
    const sevens = await hits('7')
    expect(sevens).toHaveLength(2)
    expect(sevens).toContainEqual(['meta', 'tenant', '7', 1, true])
    expect(sevens).toContainEqual(['meta', 'tenant', '7', 2, true])
  })

  test(`a member of meta is found as it is shown, ${name}`, async () => {
    const client = await shop(create())
    const hits = async (text: string) => (await client.find(text)).hits.map(told)
    expect(await hits('customer=cus_9')).toEqual([
      ['meta', 'customer', 'cus_9', 2, true],
      ['meta', 'customer', 'cus_91', 1, false],
    ])
    expect(await hits('customer=cus_91')).toEqual([['meta', 'customer', 'cus_91', 1, true]])
    expect(await hits('tenant=7')).toHaveLength(2)
    expect(await hits('tenant="7"')).toEqual([['meta', 'tenant', '7', 1, true]])
    for (const text of ['client=cus_9', 'custom=cus_9', 'customer=us_9', '=cus_9']) {
      const { hits: found, near } = await client.find(text)
      expect(near === null ? found : [], text).toEqual([])
    }
  })

  test(`what nothing has as it was typed is found in lower case, ${name}`, async () => {
    const client = await shop(create())
    const hits = async (text: string) => {
      const { hits: found, as, near } = await client.find(text)
      return [as, near, ...found.map(({ value }) => value)]
    }
    expect(await hits('Mail-1')).toEqual(['mail-1', null, 'mail-1'])
    expect(await hits('CUS_9')).toEqual(['cus_9', null, 'cus_9', 'cus_91'])
    expect(await hits('VIP')).toEqual(['vip', null, 'vip'])
    expect(await hits('Welcome')).toEqual(['welcome', null, 'welcome'])
    expect(await hits('Customer=CUS_9')).toEqual(['customer=cus_9', null, 'cus_9', 'cus_91'])
    // As it is typed, it is another.
    await put(client.store, newJob('MAIL-1'))
    expect(await hits('MAIL-1')).toEqual([undefined, null, 'MAIL-1'])
    expect(await hits('SMS.')).toEqual([undefined, null, 'sms.send'])
  })

  test(`the filter of a hit finds its jobs, ${name}`, async () => {
    const client = await shop(create())
    for (const text of ['cus_9', 'customer=cus_9', 'tenant=7', '7', 'vip', 'welcome', 'acme', 'sms', 'unavailable']) {
      for (const { filter, jobs } of (await client.find(text)).hits) {
        if (filter !== null) expect(await client.list(filter), text).toHaveLength(jobs)
      }
    }
  })

  test(`types and errors are found by what they have, in any case, ${name}`, async () => {
    const client = await shop(create())
    const hits = async (text: string) => (await client.find(text)).hits.map(told)
    const failure = ['failure', 'sms.send', 'SmtpError: 550 mailbox … unavailable', 1, false]
    expect(await hits('SMS.')).toEqual([['type', null, 'sms.send', 1, false]])
    expect(await hits('smtp')).toEqual([failure])
    expect(await hits('egone')).toEqual([failure])
    // The text of one job's error, with what varies.
    expect(await hits('mailbox 99 unavailable')).toEqual([failure])
  })

  test(`a text that nothing has gives what is near, and what was searched, ${name}`, async () => {
    const client = await shop(create())
    const { hits, near, searched } = await client.find('mail-77')
    expect([near, hits.map(({ value }) => value).toSorted()]).toEqual(['mail-', ['mail-1', 'mail-2', 'mail-3']])
    expect(searched.map(({ kind }) => kind)).toEqual([
      'job',
      'key',
      'meta',
      'tag',
      'concurrencyKey',
      'type',
      'machineState',
      'machineTag',
      'failure',
    ])
    const partly = searched.filter(({ newest }) => newest !== null).map(({ kind }) => kind)
    expect(partly).toEqual(unindexed[name])
    expect(await client.find('zzzz')).toMatchObject({ hits: [], near: null })
  })

  test(`only what has half of a text is near to it, and ids only where that is no chance, ${name}`, async () => {
    const store = create()
    const client = await shop(store)
    await put(store, newJob('fail9Xa'), newJob('bulK-77'), newJob('nopQ'), newJob('x', { tags: ['vipers'] }))
    const near = async (text: string) => {
      const { near: has, hits } = await client.find(text)
      return [has, ...hits.map(({ value, exact }) => `${value}${exact ? '!' : ''}`)]
    }
    for (const text of ['failed', 'bulk-2', 'nope', 'in:attention', 'wexyz', 'mail999999']) {
      expect(await near(text), text).toEqual([null])
    }
    expect(await near('vipxy')).toEqual(['vip', 'vip', 'vipers'])
    expect(await near('welcmoe')).toEqual(['welc', 'welcome'])
    expect(new Set(await near('MAIL-77'))).toEqual(new Set(['mail-', 'mail-1', 'mail-2', 'mail-3']))
  })

  test(`a name of which one letter is wrong is near, ${name}`, async () => {
    const client = await shop(create())
    const near = async (text: string) => {
      const { near: has, hits } = await client.find(text)
      return [has, ...hits.map(({ value, exact }) => `${value}${exact ? '!' : ''}`)]
    }
    const failure = 'SmtpError: 550 mailbox … unavailable'
    for (const text of ['malbox', 'mailboxx', 'mailbix', 'Mialbox']) {
      expect(await near(text), text).toEqual(['mailbox', failure])
    }
    expect(await near('mailxob')).toEqual([null])
    expect(await near('unavailables')).toEqual(['unavailable', failure])
  })

  test(`workers and schedules are found by their names, ${name}`, async () => {
    const store = create()
    const runtime = createRuntime({ jobs: [order], store, logger: {}, name: 'packer' })
    onTestFinished(() => void runtime.stop({ mode: 'abort' }))
    await runtime.start()
    await runtime.schedule('nightly-report', '0 3 * * *', order, { who: 'ada' })
    const { hits, others, near } = await runtime.find('REPORT')
    expect([hits, others, near]).toEqual([[], [{ kind: 'schedule', name: 'nightly-report', of: 'order' }], null])
    await expect
      .poll(async () => (await runtime.find('packer')).others)
      .toEqual([{ kind: 'worker', name: 'packer', of: expect.any(String) }])
    expect((await runtime.find('nihgtly')).others).toHaveLength(1)
    expect((await runtime.find('order')).others).toBe(undefined)
  })

  test(`hits of a kind are bounded by the limit, ${name}`, async () => {
    const client = await shop(create())
    expect((await client.find('mail', { limit: 2 })).hits.filter(({ kind }) => kind === 'job')).toHaveLength(2)
    await expect(client.find(' ')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(client.find('a', { limit: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    await expect(client.find('a'.repeat(201))).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })

  test(`states and tags of machines are found with their types, ${name}`, async () => {
    const runtime = createRuntime({ jobs: [order], store: create(), logger: {} })
    onTestFinished(() => void runtime.stop({ mode: 'abort' }))
    await runtime.start()
    const job = await runtime.enqueue(order, { who: 'ada' }, { id: 'o-1' })
    await job.waitFor('approval')
    expect((await runtime.find('approv')).hits.map(told)).toEqual([['machineState', 'order', 'approval', 1, false]])
    expect((await runtime.find('person')).hits.map(told)).toEqual([['machineTag', 'order', 'person', 1, true]])
  })
}

test('a replaced meta, and a removed job, are not found any more', async () => {
  const store = fileStore()
  const client = await shop(store)
  await put(store, newJob('again', { key: 'welcome', onConflict: 'replace', meta: { customer: 'cus_other' } }))
  expect((await client.find('cus_o')).hits.map(told)).toEqual([['meta', 'customer', 'cus_other', 1, false]])
  expect((await client.find('cus_9')).hits.map(told)[0]).toEqual(['meta', 'customer', 'cus_9', 1, true])
  await client.cancel(['mail-1'])
  await client.discard(['mail-1'])
  expect((await client.find('cus_o')).hits).not.toContainEqual(expect.objectContaining({ value: 'cus_other' }))
})

test('a member of meta is found behind many others of its value, and where it has no index', async () => {
  const store = fileStore()
  const client = await shop(store)
  const names = Array.from({ length: 150 }, (_, at) => [`m${at}`, 'same'])
  await put(store, newJob('many', { meta: { ...Object.fromEntries(names), z: 'same', isPaid: true } }))
  expect((await client.find('z=same')).hits.map(told)).toEqual([['meta', 'z', 'same', 1, true]])
  const [paid] = (await client.find('isPaid=true')).hits
  expect(paid).toMatchObject({ value: 'true', exact: true, filter: { meta: { isPaid: true } } })
})
