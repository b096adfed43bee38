/** The PostgreSQL store against the contract: one store, and two on one schema that are asked in turn. */
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { postgresOfFile, postgresTest as test } from '../support/postgres-server.ts'
import { schemasOf } from '../support/postgres-subject.ts'

const server = postgresOfFile()
const schemas = schemasOf(server)

storeConformance({
  name: 'postgres',
  test,
  random: { sequences: isLong ? 100 : 12 },
  create: () => schemas.subject({ url: server().url }),
})

storeConformance({
  name: 'postgres, asked by two stores in turn',
  test: everyNth(6, test),
  random: { sequences: isLong ? 40 : 6, seed: 2_001 },
  create: () => schemas.subjectInTurn({ url: server().url }),
})
