/** PostgreSQL servers for tests. */
import { afterAll, beforeAll, test } from 'vitest'
import { postgresServer, programs, type PostgresServer } from './postgres-process.ts'

/** Why no server can be started here; null = one can. */
const missing = programs === null ? 'no server is installed: apt-get install postgresql' : null

if (missing !== null) console.error(`Tests of the PostgreSQL store are left out: ${missing}`)

export const canStartPostgres = missing === null

/** A test that needs a server. Under CI=true a test that is left out fails the run. */
export const postgresTest = test.skipIf(missing !== null)

/** One server for the tests of a file. */
export function postgresOfFile(...settings: readonly string[]): () => PostgresServer {
  let server: PostgresServer | null = null
  beforeAll(async () => {
    if (missing === null) server = await postgresServer(...settings)
  })
  afterAll(async () => {
    await server?.remove()
  })
  return () => {
    if (server === null) throw new Error(missing ?? 'the server has not been started')
    return server
  }
}
