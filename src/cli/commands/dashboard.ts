/** `jobchart dashboard`: the dashboard of a store, on a loopback port. */
import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { JobchartError } from '../../core/errors.ts'
import { errorFields } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { integer, withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'

interface DashboardOptions extends StoreOptions {
  readonly port: number
  readonly title: string
  readonly open?: true
}

export function dashboardCommand({ command, terminal, run }: Program): Command {
  return withStore(command('dashboard', 'serve the dashboard on a port of this computer until Ctrl-C'))
    .option('-p, --port <port>', 'the port; 0 is any that is free', integer(0, 65_535), 0)
    .option('--title <text>', 'the title of the page', 'jobchart')
    .option('--open', 'open the page in a browser')
    .action((options: DashboardOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const { createDashboard } = await import('../../dashboard/index.ts')
          const { port, title } = options
          const { url, token, close } = await createDashboard({ client, title })
            .listen({ port })
            .catch((error: unknown) => {
              const { message } = errorFields(error)
              const hint = 'Pass another --port, or none: any free one is taken.'
              throw new JobchartError('INVALID_OPTION', `port ${port} cannot be used: ${message}`, {
                hint,
                cause: error,
              })
            })
          await terminal.print(options.json ? JSON.stringify({ url, token }) : url)
          if (options.open && !(await openPage(url)))
            terminal.note('No browser could be opened: open the address yourself.')
          await ended(terminal.signal)
          await close()
          return exitCodes.done
        }),
      ),
    )
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Opens an address as the desktop does. @returns false if there is no program for that */
function openPage(url: string): Promise<boolean> {
  const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
    darwin: ['open', url],
    win32: ['cmd', '/c', 'start', '', url],
  }
  const [program, ...rest] = openers[process.platform] ?? ['xdg-open', url]
  return new Promise((resolve) => {
    const child = spawn(program, rest, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => resolve(true))
    child.unref()
  })
}
