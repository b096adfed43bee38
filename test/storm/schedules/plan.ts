/** The schedules of a schedule storm, and how far apart their ticks are. */
import { defineJob, schedule, type ScheduleDefinition } from 'jobchart'
import { ledgerAt } from '../../harness/ledger.ts'

/** A run, as it stands in the ledger of its process. */
export interface Run {
  readonly name: string
  readonly id: string
}

export function tickJob(ledger: string) {
  const append = ledgerAt(ledger)
  return defineJob<{ name: string }>({
    type: 'tick',
    run: async ({ name }, { id }) => append({ name, id } satisfies Run),
  })
}

/** Names, and seconds from tick to tick. */
export const everySeconds: Readonly<Record<string, number>> = { cron: 1, even: 2, interval: 1, computed: 1 }

export const schedulesOf = (job: ReturnType<typeof tickJob>): ScheduleDefinition[] => [
  schedule('cron', '* * * * * *', job, { name: 'cron' }),
  schedule('even', '*/2 * * * * *', job, { name: 'even' }, { timezone: 'Europe/Zurich', jitter: '300ms' }),
  schedule('interval', '@every 1s', job, { name: 'interval' }),
  schedule('computed', '* * * * * *', job, () => ({ name: 'computed' })),
]
