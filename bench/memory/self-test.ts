/** Shows that a lost job is noticed: a contender that loses one must fail the run. */
import { interleaved } from '../harness/rounds.ts'
import type { Section } from '../suite.ts'
import { contender } from './throughput.ts'

export const selfTest: Section = {
  name: 'self-test',
  onRequest: true,
  title: () => 'a queue that loses a job; this section must fail',
  async run(bench) {
    await interleaved(bench, 1, { forgetful: contender(bench, 'forgetful') })
    return { rows: [] }
  },
}
