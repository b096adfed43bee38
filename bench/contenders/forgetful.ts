/** A queue that loses a job, for the self-test: the ledger must notice. */
import type { Contender } from '../contender.ts'

export const contender: Contender = {
  prepare({ jobs, handlers }) {
    return {
      async run() {
        for (let i = 1; i < jobs; i++) await handlers[i % handlers.length]?.({ i })
      },
    }
  },
}
