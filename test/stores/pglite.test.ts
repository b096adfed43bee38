/** The PostgreSQL store on PGlite against the contract: one store, and two on one schema that are asked in turn. */
import { PGlite } from '@electric-sql/pglite'
import { afterAll, test } from 'vitest'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { inTurn } from '../support/in-turn.ts'
import { postgresSubject, Schemas } from '../support/postgres-subject.ts'
import { movingClock } from './moving-clock.ts'

const pglite = new PGlite()
afterAll(() => pglite.close())
const schemas = new Schemas(() => Promise.resolve({ query: (text) => pglite.exec(text) }))

storeConformance({
  name: 'PGlite',
  test: everyNth(8, test),
  random: { sequences: isLong ? 40 : 4, seed: 3_001 },
  async create() {
    const schema = schemas.take()
    const subject = await postgresSubject({ pglite }, schema)
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
  name: 'PGlite, asked by two stores in turn',
  test: everyNth(16, test),
  random: { sequences: isLong ? 20 : 2, seed: 4_001 },
  async create() {
    const clock = movingClock()
    const schema = schemas.take()
    const one = await postgresSubject({ pglite }, schema, clock)
    const other = await postgresSubject({ pglite }, schema, clock)
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
