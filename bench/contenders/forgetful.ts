/** Nobody's queue: it loses a job. With it we see that a lost job does not go unnoticed. */
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
