/** The PostgreSQL store through PgBouncer, in transaction mode. */
import { missingPgbouncer } from '../support/pgbouncer.ts'
import type { Proof } from './proof.ts'
import { runTests } from './tests.ts'

const tests = ['test/stores/pgbouncer.test.ts']

export const pgbouncer: Proof = {
  name: 'pgbouncer',
  claim: 'the PostgreSQL store keeps its contract through PgBouncer in transaction mode',
  async run() {
    if (missingPgbouncer !== null) {
      return {
        summary: `left out: ${missingPgbouncer}`,
        failures: process.env['CI'] === 'true' ? [missingPgbouncer] : [],
      }
    }
    return { summary: tests.join(', '), failures: await runTests(tests) }
  },
}
