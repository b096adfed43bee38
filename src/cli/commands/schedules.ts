/** `jobchart schedules`: lists, pauses, resumes and triggers schedules. */
import type { Command } from 'commander'
import { JobchartError } from '../../core/errors.ts'
import type { Client, ScheduleHandle, ScheduleRecord } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import { helpCommand, listingCommand, type Program } from '../command.ts'
import { table, type Column } from '../table.ts'
import { grouped } from '../../core/counted.ts'
import { dateAndTime, relative } from '../words.ts'

const columns = (now: number): readonly Column<ScheduleRecord>[] => [
  { title: 'NAME', text: ({ name }) => name },
  { title: 'SPEC', text: ({ spec, timezone }) => `${spec} ${timezone}`, flexible: true },
  { title: 'TYPE', text: ({ type }) => type, flexible: true, optional: 1 },
  {
    title: 'NEXT',
    text: ({ paused, nextRuns: [next] }) => (paused ? 'paused' : relative(next ?? null, now)),
    style: ({ paused }) => (paused ? 'yellow' : 'reset'),
  },
  { title: 'LAST', text: ({ last }) => relative(last?.at ?? null, now), optional: 2 },
  { title: 'FIRED', text: ({ fired }) => grouped(fired), right: true, optional: 3 },
  { title: 'MISSED', text: ({ missed }) => grouped(missed), right: true, optional: 4 },
]

export function schedulesCommand(program: Program): Command {
  const { command, terminal, run } = program
  const schedules = command('schedules', 'list schedules; pause, resume or trigger one')
  withStore(listingCommand(schedules, 'list schedules and their next ticks'))
    .option('-n, --next <count>', 'how many next ticks of each are listed', integer(1, 1_000), 1)
    .action((options: StoreOptions & { readonly next: number }) =>
      run(options, () =>
        withClient(options, async (client) => {
          const found = await client.schedules({ next: options.next })
          const now = client.store.now()
          if (options.json) await terminal.print(JSON.stringify({ now, schedules: found }))
          else if (found.length === 0) terminal.note('No schedules.')
          else await terminal.print(table(found, columns(now), terminal))
          if (options.next > 1 && !options.json) {
            for (const { name, nextRuns } of found) {
              await terminal.print(`\n${name}\n${nextRuns.map((at) => `  ${dateAndTime(at)}`).join('\n')}`)
            }
          }
          return exitCodes.done
        }),
      ),
    )
  const changes = {
    pause: 'no ticks until it is resumed',
    resume: 'go on with the first tick after now',
    trigger: 'enqueue a job of it now',
  }
  for (const [action, about] of Object.entries(changes) as [keyof typeof changes, string][]) {
    withStore(schedules.command(action).description(about))
      .argument('<name>', 'the name of the schedule')
      .action((name: string, options: StoreOptions) =>
        run(options, () =>
          withClient(options, async (client) => {
            const job = await change(await named(client, name), action)
            if (options.json) await terminal.print(JSON.stringify({ schedule: name, action, ...(job && { job }) }))
            else await terminal.print(job === null ? `${name}: ${action}d` : `${name}: enqueued ${job}`)
            return exitCodes.done
          }),
        ),
      )
  }
  helpCommand(schedules)
  return schedules
}

async function change(schedule: ScheduleHandle, action: 'pause' | 'resume' | 'trigger'): Promise<string | null> {
  if (action === 'trigger') return (await schedule.trigger()).id
  await schedule[action]()
  return null
}

async function named(client: Client, name: string): Promise<ScheduleHandle> {
  const schedule = await client.getSchedule(name)
  if (schedule !== null) return schedule
  throw new JobchartError('NOT_FOUND', `schedule ${name} is not in the store`, {
    hint: '`jobchart schedules` lists those that are.',
  })
}
