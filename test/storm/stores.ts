/** The stores that a storm may be let loose on: each made anew by every process, on one folder that all share. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Json, Store } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { redisStore } from 'jobchart/redis'
import { sqliteStore } from 'jobchart/sqlite'

export type MakeStore = (folder: string) => Store

const sqlite: MakeStore = (folder) => sqliteStore({ path: join(folder, 'jobs.db') })

/** Where the server of a storm is that is not told. */
const redisUrl = 'redis://127.0.0.1:6379'

/** Where the processes of a storm find the address of the server. */
export const serverUrlFile = (folder: string): string => join(folder, 'server-url')

/**
 * A prefix for each storm. The first process of a storm writes where the server is: the others have no environment of
 * ours.
 */
const redis: MakeStore = (folder) => {
  const place = serverUrlFile(folder)
  if (!existsSync(place)) writeFileSync(place, process.env['JOBCHART_REDIS_URL'] ?? redisUrl)
  return redisStore({ url: readFileSync(place, 'utf8'), prefix: basename(folder) })
}

/** A schema of the server that the storm has started. */
const postgres: MakeStore = (folder) => postgresStore({ url: readFileSync(serverUrlFile(folder), 'utf8') })

/** A store that now and then acknowledges the ends of jobs, and has written nothing. */
const forgetful: MakeStore = (folder) => {
  const store = sqlite(folder)
  let calls = 0
  let invented = 1e12 + process.pid * 1e6
  return {
    ...store,
    async settle(settlements) {
      if (++calls % 20 !== 0) return store.settle(settlements)
      const at = store.now()
      return settlements.map(({ attempt, to }) => {
        return { outcome: 'settled', seq: ++invented, at, from: 'running', to, attempt, dueAt: null }
      })
    },
  }
}

/** A store that lends for a shorter time than it says. */
const impatient: MakeStore = (folder) => {
  const store = sqlite(folder)
  return { ...store, claim: (request) => store.claim({ ...request, leaseMs: Math.ceil(request.leaseMs / 20) }) }
}

/** A store that now and then takes a message, and loses it. */
const careless: MakeStore = (folder) => {
  const store = sqlite(folder)
  let messages = 0
  return {
    ...store,
    async send(requests) {
      const isLost = requests.map(({ message, expect }) => {
        // Who only asks whether it is there is told the truth.
        const isMeant = expect === null || expect.checkpoint >= 0
        return isMeant && message.kind === 'event' && hasNumber(message.event) && ++messages % 5 === 0
      })
      const answers = [...(await store.send(requests.filter((_, i) => isLost[i] !== true)))]
      return requests.map((_, i) =>
        isLost[i] === true ? { outcome: 'kept', state: 'waiting' } : take(answers.shift()),
      )
    },
  }
}

const hasNumber = (event: Json): boolean => typeof event === 'object' && event !== null && 'n' in event

function take<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('there is none left')
  return value
}

/**
 * A store that now and then writes half a checkpoint: numbers that a machine was told are gone from its inbox, and it
 * stands where it stood. It never loses an END: who waits for that for ever makes the proof a long one.
 */
const torn: MakeStore = (folder) => {
  const store = sqlite(folder)
  const stood = new Map<string, { readonly state: Json; readonly numbers: number }>()
  let parked = 0
  return {
    ...store,
    async claim(request) {
      const answer = await store.claim(request)
      for (const { id, checkpoint, inbox } of answer.jobs) {
        const isTold = inbox.every(({ message }) => message.kind === 'event' && hasNumber(message.event))
        if (checkpoint === null || !isTold) stood.delete(id)
        else stood.set(id, { state: checkpoint.state, numbers: inbox.at(-1)?.number ?? 0 })
      }
      return answer
    },
    settle: (settlements) =>
      store.settle(
        settlements.map((settlement) => {
          const { id, event, checkpoint } = settlement
          const before = stood.get(id)
          if (event !== 'PARK' || checkpoint?.read !== before?.numbers || ++parked % 5 !== 0) return settlement
          if (checkpoint === undefined || before === undefined) return settlement
          return { ...settlement, checkpoint: { ...checkpoint, state: before.state } }
        }),
      ),
  }
}

export const stores: Readonly<Record<string, MakeStore>> = { sqlite, redis, postgres }
/** Stores that break promises, for the proof that broken promises are noticed. */
export const brokenStores: Readonly<Record<string, MakeStore>> = { forgetful, impatient, careless, torn }

/** The store of that name. @throws TypeError if there is none */
export function storeNamed(name: string): MakeStore {
  const make = stores[name] ?? brokenStores[name]
  if (make === undefined) throw new TypeError(`no store is named ${name}`)
  return make
}
