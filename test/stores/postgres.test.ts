/** The PostgreSQL store against the contract: one store, and two on one schema that are asked in turn. */
import { storeConformance, type Subject } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { inTurn } from '../support/in-turn.ts'
import { postgresOfFile, postgresTest as test } from '../support/postgres-server.ts'
import { postgresSubject, schemasOf } from '../support/postgres-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = postgresOfFile()
const schemas = schemasOf(server)

storeConformance({
  name: 'postgres',
  test,
  random: { sequences: isLong ? 100 : 12 },
  async create(): Promise<Subject> {
    const schema = schemas.take()
    const subject = await postgresSubject({ url: server().url }, schema)
    return {
      ...subject,
      async close() {
        await subject.close()
        await schemas.giveBack(schema)
      },
    }
  },
})

storeConformance({
  name: 'postgres, asked by two stores in turn',
  test: everyNth(6, test),
  random: { sequences: isLong ? 40 : 6, seed: 2_001 },
  async create() {
    const clock = movingClock()
    const schema = schemas.take()
    const one = await postgresSubject({ url: server().url }, schema, clock)
    const other = await postgresSubject({ url: server().url }, schema, clock)
    return {
      store: inTurn(one.store, other.store),
      advance: (ms) => clock.advance(ms),
      async close() {
        await one.close()
        await other.close()
        await schemas.giveBack(schema)
      },
    }
  },
})
