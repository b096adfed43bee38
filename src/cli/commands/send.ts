/** `jobchart send`: an event for the machine of a job. */
import type { Command } from 'commander'
import type { Duration } from '../../core/duration.ts'
import { JobchartError } from '../../core/errors.ts'
import { errorFields } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { duration, jsonArgument, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'

interface SendOptions extends StoreOptions {
  readonly key?: string
  readonly always?: true
  readonly later?: true
  readonly keep?: Duration
}

export function sendCommand({ command, terminal, run }: Program): Command {
  return withStore(command('send', 'send an event to the machine of a job'))
    .argument('<id>', 'the id of the job')
    .argument('<event>', 'the type of the event, such as APPROVE')
    .argument('[fields]', 'its other fields, a JSON object', jsonArgument)
    .option('--key <key>', 'sent twice by the same key, it is read once')
    .option('--later', 'keep it until a state of the machine takes it; needs no --jobs')
    .option('--keep <duration>', 'with --later: for how long, such as 12h or 30d (default: 7d)', duration)
    .option('--always', 'send it without asking the machine whether it takes it; needs no --jobs')
    .action((id: string, type: string, fields: unknown, options: SendOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          if (fields !== undefined && (typeof fields !== 'object' || fields === null || Array.isArray(fields))) {
            throw new JobchartError('INVALID_INPUT', 'expected the fields of the event as a JSON object', {
              hint: `For example: jobchart send ${id} ${type} '{"by":"ada"}'`,
            })
          }
          if (!options.always && !options.later && options.jobs === undefined) {
            throw new JobchartError(
              'INVALID_OPTION',
              'the definition is needed to check whether the machine takes the event',
              {
                hint: 'Pass --jobs FILE, which exports the definition; or --later or --always, to send the event without the check.',
              },
            )
          }
          const { key, always, later, keep } = options
          if (keep !== undefined && !later) {
            const hint = 'Only events that wait for a state are kept: pass --later, or leave out --keep.'
            throw new JobchartError('INVALID_OPTION', '--keep: expected --later', { hint })
          }
          const settings = {
            ...(key !== undefined && { key }),
            ...(keep !== undefined && { keep }),
            accept: later ? 'later' : always ? 'always' : 'now',
          } as const
          await client.send(id, { ...fields, type }, settings).catch((error: unknown) => {
            const { code, message } = errorFields(error)
            if (code !== 'NOT_ACCEPTED') throw error
            const hint = `jobchart show ${id} --jobs FILE shows its state and the events that it takes.`
            throw new JobchartError(code, message, { hint, cause: error })
          })
          await terminal.print(options.json ? JSON.stringify({ id, sent: type }) : `sent ${type} to ${id}`)
          return exitCodes.done
        }),
      ),
    )
}
