/** `jobchart stats`: how many jobs are in each state, and how many are done per second, queue by queue. */
import type { Command } from 'commander'
import type { Rates } from '../../index.ts'
import { jobStates } from '../../core/lifecycle.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { queueColumns, queueRows, totalRates } from '../queue-rows.ts'
import { table } from '../table.ts'
import { grouped } from '../../core/counted.ts'
import { duration, rate, stateStyles } from '../words.ts'

export function statsCommand({ command, terminal, run }: Program): Command {
  return withStore(command('stats', 'show how many jobs are in each state, and rates, queue by queue')).action(
    (options: StoreOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { types: _, ...counts } = await client.counts()
          const workers = await client.workers({ inputs: false })
          const queues = await queueRows(client, workers)
          const perSecond = await totalRates(client)
          const now = client.store.now()
          if (options.json) {
            await terminal.print(JSON.stringify({ now, counts, perSecond, queues, workers: workers.length }))
            return exitCodes.done
          }
          const shown = jobStates.filter((state) => counts[state] > 0)
          const totals = shown.map((state) => `${terminal.style(stateStyles[state], state)} ${grouped(counts[state])}`)
          await terminal.print(totals.length === 0 ? 'No jobs.' : totals.join('   '))
          if (queues.length > 0) await terminal.print(`last minute: ${lastMinute(perSecond)}`)
          if (queues.length > 0) await terminal.print(`\n${table(queues, queueColumns(now), terminal)}`)
          return exitCodes.done
        }),
      ),
  )
}

const lastMinute = ({ enqueued, done, failed, meanQueuedMs }: Rates): string =>
  [
    `${rate(enqueued)} enqueued`,
    `${rate(done)} done`,
    `${rate(failed)} failed`,
    ...(meanQueuedMs === null ? [] : [`queued for ${duration(meanQueuedMs)} on average`]),
  ].join('   ')
