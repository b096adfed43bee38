/**
 * A PostgreSQL store in virtual time: the clock of the world judges leases and due times, and no time passes while a
 * call is on its way.
 */
import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import type { Store } from 'jobchart'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import { postgresPort } from '../../src/stores/postgres/port.ts'
import { targetOf } from '../../src/stores/postgres/target.ts'
import { remoteStore } from '../../src/stores/remote/store.ts'
import { Traffic } from './traffic.ts'

interface PostgresInVirtualTime {
  readonly store: Store
  /** Resolves when nothing is on its way to the server. */
  readonly settled: () => Promise<void>
  /** Removes its schema. */
  readonly dispose: () => Promise<void>
}

/** @param url the database; the store has a schema of its own there, and leaves nothing behind */
export function postgresInVirtualTime(url: string): PostgresInVirtualTime {
  const traffic = new Traffic()
  const schema = `world_${randomUUID().slice(0, 8)}`
  let given: Clock = systemClock
  const clock: Clock = {
    now: () => given.now(),
    monotonic: () => given.monotonic(),
    timer: (run, delayMs, options) => given.timer(run, delayMs, options),
    nextTurn: (run) => given.nextTurn(run),
  }
  const { connect, where } = targetOf({ url })
  const port = postgresPort({
    where,
    schema,
    transitionsMax: 10_000,
    clock,
    async connect() {
      const link = await traffic.counted(connect())
      return {
        ifSilent: link.ifSilent,
        isPooled: link.isPooled,
        epoch: link.epoch,
        query: (...statement) => traffic.counted(link.query(...statement)),
        transaction: (settings, work) => traffic.counted(link.transaction(settings, work)),
        listen: (channel, told) => traffic.counted(link.listen(channel, told)),
        onEnd: (listener) => link.onEnd(listener),
        close: () => link.close(),
      }
    },
  })
  const store = remoteStore(port)
  return {
    store: {
      ...store,
      open(options) {
        if (given === systemClock) given = options.clock
        return store.open(options)
      },
    },
    settled: () => traffic.settled(),
    async dispose() {
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await client.end()
    },
  }
}
