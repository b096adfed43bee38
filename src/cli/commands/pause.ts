/** `jobchart pause` and `jobchart resume`: a queue, for all processes. */
import type { Command } from 'commander'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { grouped } from '../../core/counted.ts'
import { isKnownType } from '../../core/figures.ts'
import { jobs, unknownType } from '../words.ts'

export const pauseCommand = (program: Program): Command =>
  queueCommand(program, 'pause', 'pause queues for all processes; running jobs go on')

export const resumeCommand = (program: Program): Command => queueCommand(program, 'resume', 'end the pause of queues')

const queueCommand = ({ command, terminal, run }: Program, action: 'pause' | 'resume', about: string): Command =>
  withStore(command(action, about))
    .argument('<types...>', 'the types of the jobs')
    .action((types: string[], options: StoreOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const changed = []
          for (const type of types) {
            const queue = client.queue(type)
            await queue[action]()
            const { paused, counts } = await queue.stats()
            changed.push({ type, paused, counts })
          }
          if (options.json) await terminal.print(JSON.stringify({ queues: changed }))
          else {
            for (const { type, paused, counts } of changed) {
              const shown = `${jobs(counts.queued)} queued, ${grouped(counts.running)} running`
              if (!isKnownType(client.jobs, type, counts)) terminal.note(unknownType(type))
              await terminal.print(`${type} ${paused ? 'is paused' : 'goes on'}: ${shown}`)
            }
          }
          return exitCodes.done
        }),
      ),
    )
