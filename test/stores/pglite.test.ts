/** The PostgreSQL store on PGlite against the contract: one store, and two on one schema that are asked in turn. */
import { PGlite } from '@electric-sql/pglite'
import { afterAll, test } from 'vitest'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { Schemas } from '../support/postgres-subject.ts'

const pglite = new PGlite()
afterAll(() => pglite.close())
const schemas = new Schemas(() => Promise.resolve({ query: (text) => pglite.exec(text) }))

storeConformance({
  name: 'PGlite',
  test: everyNth(8, test),
  random: { sequences: isLong ? 40 : 4, seed: 3_001 },
  create: () => schemas.subject({ pglite }),
})

storeConformance({
  name: 'PGlite, asked by two stores in turn',
  test: everyNth(16, test),
  random: { sequences: isLong ? 20 : 2, seed: 4_001 },
  create: () => schemas.subjectInTurn({ pglite }),
})
