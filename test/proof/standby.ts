/** A standby takes the place of the server of a PostgreSQL store. */
import type { Proof } from './proof.ts'
import { runTests } from './tests.ts'

const tests = ['test/stores/postgres-standby.test.ts']
const rounds = 5

export const standby: Proof = {
  name: 'standby',
  claim: 'workers go on with a standby that is promoted, and what it had not received is told',
  async run({ scale }) {
    const failures: string[] = []
    for (let round = 0; round < rounds * scale; round++) failures.push(...(await runTests(tests)))
    return { summary: `${rounds * scale} times`, failures }
  },
}
