/** The schedules of a schedule storm, and how far apart their ticks are. */
import { appendFileSync } from 'node:fs'
import { defineJob, schedule, type ScheduleDefinition } from 'jobchart'

/** Each run leaves a line in the file of its process. */
export const tickJob = (ledger: string) =>
  defineJob<{ name: string }>({
    type: 'tick',
    run: async ({ name }, { id }) => appendFileSync(ledger, `${name} ${id}\n`),
  })

/** Names, and seconds from tick to tick. */
export const everySeconds: Readonly<Record<string, number>> = { cron: 1, even: 2, interval: 1, computed: 1 }

export const schedulesOf = (job: ReturnType<typeof tickJob>): ScheduleDefinition[] => [
  schedule('cron', '* * * * * *', job, { name: 'cron' }),
  schedule('even', '*/2 * * * * *', job, { name: 'even' }, { timezone: 'Europe/Zurich', jitter: '300ms' }),
  schedule('interval', '@every 1s', job, { name: 'interval' }),
  schedule('computed', '* * * * * *', job, () => ({ name: 'computed' })),
]
