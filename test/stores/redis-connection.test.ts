/** What a connection does when the server is silent, in virtual time, on a client of the test. */
import { VirtualClock } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { Redis, RedisError, type RedisClient, type Reply } from '../../src/stores/redis/connection.ts'

/** Clients that answer, or that do not; each is told apart by its number. */
class Clients {
  /** What each of them does. */
  answer: (client: number, command: string) => Promise<Reply> = async () => 'OK'
  /** What was asked of whom, and who was closed. */
  readonly seen: string[] = []
  private count = 0

  make(): RedisClient {
    const number = ++this.count
    const ask = (command: string): Promise<Reply> => {
      this.seen.push(`${number} ${command}`)
      return this.answer(number, command)
    }
    return {
      connect: async () => void (await ask('connect')),
      send: ([name = '']) => ask(name),
      subscribe: async (channel) => void (await ask(`subscribe ${channel}`)),
      onReady: () => void this.seen.push(`${number} listens`),
      close: () => void this.seen.push(`${number} closed`),
      duplicate: () => this.make(),
      hasOneServer: true,
    }
  }
}

const never = new Promise<never>(() => {})

function unconnected(subscription: ConstructorParameters<typeof Redis>[2] = null) {
  const clock = new VirtualClock()
  const clients = new Clients()
  const redis = new Redis(clients.make(), 'test', subscription, clock)
  onTestFinished(() => redis.close())
  // A rejection takes a turn of the event loop.
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      await clock.advance(50)
      await clock.settle()
    }
  }
  return { pass, clients, redis }
}

async function connected(subscription: ConstructorParameters<typeof Redis>[2] = null) {
  const parts = unconnected(subscription)
  await parts.redis.connect()
  parts.clients.seen.length = 0
  return parts
}

const outcome = (call: Promise<unknown>): { text: string } => {
  const told = { text: 'waits' }
  call.then(
    (reply) => (told.text = String(reply)),
    (error: unknown) => (told.text = (error as Error).message),
  )
  return told
}

test('a silent connection is replaced after 5 s, and a call behind it is answered by the new one', async () => {
  const { pass, clients, redis } = await connected()
  redis.onReady(() => {})
  clients.answer = async (client) => (client === 1 ? never : 'OK')
  const calls = [outcome(redis.send(['GET'])), outcome(redis.pipeline([['GET'], ['GET']]))]
  await pass(5_000)
  expect(calls.map(({ text }) => text)).toEqual(['waits', 'waits'])
  await pass(1_000)
  expect(calls.map(({ text }) => text)).toEqual(Array(2).fill('Redis at test: no answer within 5000 ms'))
  expect(await redis.send(['SET'])).toBe('OK')
  expect(clients.seen.slice(4)).toEqual(['2 listens', '1 closed', '2 connect', '2 SET'])
})

test('an idle connection is asked for a sign of life, and replaced if it gives none', async () => {
  const { pass, clients } = await connected()
  await pass(30_000)
  expect(new Set(clients.seen)).toEqual(new Set(['1 PING']))
  clients.answer = async (client) => (client === 1 ? never : 'OK')
  await pass(12_000)
  expect(clients.seen).toContain('2 connect')
})

test('a connection that cannot be set up is replaced after 10 s, until one can', async () => {
  const { pass, clients, redis } = await connected()
  clients.answer = (client, command) => (client < 4 || command !== 'connect' ? never : Promise.resolve('OK'))
  const call = outcome(redis.send(['GET']))
  await pass(6_000)
  expect([call.text, clients.seen.at(-1)]).toEqual(['Redis at test: no answer within 5000 ms', '2 connect'])
  await pass(10_000)
  expect(clients.seen.at(-1)).toBe('2 connect')
  await pass(12_000)
  expect(clients.seen.slice(-4)).toEqual(['2 closed', '3 connect', '3 closed', '4 connect'])
})

test('a client that gives up its first try is told to connect again, less and less often', async () => {
  const { pass, clients, redis } = await connected()
  clients.answer = (client, command) => (client === 1 ? never : Promise.reject(new Error(`${command} refused`)))
  outcome(redis.send(['GET']))
  await pass(6_000)
  clients.seen.length = 0
  // After 50, 150, 350, 750 and 1550 ms.
  await pass(3_000)
  expect(clients.seen).toEqual(Array(5).fill('2 connect'))
})

test('a call that is not answered is rejected after 10 s, also if others are', async () => {
  const { pass, clients, redis } = await connected()
  clients.answer = async (_, command) => (command === 'LOST' ? never : 'OK')
  const lost = outcome(redis.send(['LOST']))
  for (let s = 0; s < 10; s++) {
    await pass(1_000)
    await redis.send(['GET'])
  }
  expect(lost.text).toBe('waits')
  await pass(1_000)
  expect(lost.text).toBe('Redis at test: no answer within 10000 ms')
  expect(clients.seen.filter((each) => !each.startsWith('1 '))).toEqual([])
})

test('a connection for a channel comes to it again, also if that is refused at first', async () => {
  let began = 0
  const { pass, clients } = await connected({ channels: ['c'], told() {}, began: () => began++ })
  expect(began).toBe(1)
  let refusals = 2
  clients.answer = async (client, command) => {
    if (client === 1) return never
    if (command === 'subscribe c' && refusals-- > 0) throw new RedisError('NOPERM')
    return 'OK'
  }
  await pass(12_000)
  await pass(6_000)
  const again = ['2 connect', '2 subscribe c']
  expect(clients.seen).toEqual(['1 PING', '2 listens', '1 closed', ...again, ...again, ...again, '2 PING'])
  expect(began).toBe(2)
})

test('a channel that is added is one of those that a connection comes to again', async () => {
  let began = 0
  const { pass, clients, redis } = await connected({ channels: ['c'], told() {}, began: () => began++ })
  redis.addChannel('d')
  await pass(50)
  expect(clients.seen.splice(0)).toEqual(['1 subscribe d'])
  expect(began).toBe(2)
  clients.answer = async (_, command) => {
    if (command === 'subscribe e') throw new RedisError('NOPERM')
    return 'OK'
  }
  redis.addChannel('e')
  await pass(50)
  clients.answer = async () => 'OK'
  await pass(10_000)
  expect(clients.seen).toEqual(['1 subscribe e', '1 subscribe c', '1 subscribe d', '1 subscribe e', '1 PING'])
  expect(began).toBe(3)
})

test('a channel that is added before the connection is there is come to with the others', async () => {
  const { clients, redis } = unconnected({ channels: ['c'], told() {}, began() {} })
  clients.answer = async (_, command) => {
    if (command === 'subscribe c') redis.addChannel('d')
    return 'OK'
  }
  await redis.connect()
  expect(clients.seen).toEqual(['1 listens', '1 connect', '1 subscribe c', '1 subscribe d'])
})

test('a first connection that is refused at its channel tries again', async () => {
  const { pass, clients, redis } = unconnected({ channels: ['c'], told() {}, began() {} })
  clients.answer = (_, command) =>
    command === 'subscribe c' ? Promise.reject(new RedisError('NOPERM')) : Promise.resolve('OK')
  await expect(redis.connect()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  clients.answer = async () => 'OK'
  await pass(12_000)
  expect(clients.seen).toEqual(['1 listens', '1 connect', '1 subscribe c', '1 subscribe c', '1 PING'])
})
