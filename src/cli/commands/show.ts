/** `jobchart show`: one job with its history, errors and logs; with its definition also the chart of its machine. */
import type { Command } from 'commander'
import { JobchartError } from '../../core/errors.ts'
import { innermost } from '../../core/state-paths.ts'
import type { ErrorRecord, JobRecord } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { quoted } from './find.ts'
import { table } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { counted } from '../../core/counted.ts'
import { dateAndTime, manyLines, oneLine, relative, stateStyles } from '../words.ts'
import { WorkerNames } from '../worker-names.ts'

export function showCommand({ command, terminal, run }: Program): Command {
  return withStore(command('show', 'show a job: its history, errors, logs, input and output'))
    .argument('<id>', 'the id of the job')
    .action((id: string, options: StoreOptions) =>
      run(options, () =>
        withClient(options, async (client) => {
          const handle = await client.job(id)
          if (handle === null) {
            throw new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
              hint: `It was pruned or discarded, or --store names another store. What is near: jobchart find ${quoted(id)}`,
            })
          }
          const record = await handle.record()
          // Imported only here: it draws charts.
          const { machineShown } = await import('../machine-shown.ts')
          const machine = await machineShown(client, record)
          if (options.json) await terminal.print(JSON.stringify({ job: record, machine: machine?.data ?? null }))
          else {
            const named = await withNames(record, new WorkerNames(client))
            await terminal.print(described(named, machine?.text ?? null, client.store.now(), terminal))
          }
          return exitCodes.done
        }),
      ),
    )
}

/** The job with the names of its workers in place of their ids. */
async function withNames(record: JobRecord, names: WorkerNames): Promise<JobRecord> {
  const history = []
  for (const entry of record.history) history.push({ ...entry, worker: await names.of(entry.worker) })
  return { ...record, history, worker: await names.of(record.worker) }
}

function described(record: JobRecord, machine: string | null, now: number, terminal: Terminal): string {
  const title = (text: string): string => terminal.style('bold', text)
  const { id, type, state, history, errors, logs } = record
  const parts = [
    `${title(oneLine(type))} ${oneLine(id)}  ${terminal.style(stateStyles[state], state)}`,
    ...facts(record, now).map(([name, text]) => `  ${terminal.style('dim', name.padEnd(11))} ${oneLine(text)}`),
  ]
  if (machine !== null) parts.push('', title('Machine'), machine)
  for (const [name, value] of Object.entries({ Input: record.input, Output: record.output, Meta: record.meta })) {
    if (value === undefined || (name === 'Meta' && Object.keys(record.meta).length === 0)) continue
    parts.push('', title(name), indented(JSON.stringify(value, null, 2)))
  }
  if (record.error !== null) parts.push('', title('Error'), indented(errorText(record.error)))
  if (errors.length > 1) {
    const lines = errors.map(
      ({ attempt, failedAt, error }) => `${dateAndTime(failedAt)}  attempt ${attempt}  ${error.message}`,
    )
    parts.push('', title('Failed attempts'), ...lines.map((line) => `  ${oneLine(line)}`))
  }
  const deferred = record.inbox.filter(({ number: each }) => record.deferred.includes(each))
  if (deferred.length > 0) {
    const lines = deferred.map(({ at, message }) => `${dateAndTime(at)}  ${eventText(message)}`)
    parts.push('', title('Events that wait for a state'), ...lines.map((line) => `  ${oneLine(line)}`))
  }
  if (logs.length > 0) {
    parts.push('', title('Logs'), ...logs.map(({ at, message }) => `  ${dateAndTime(at)}  ${oneLine(message)}`))
  }
  parts.push('', title('History'), historyTable(history, terminal))
  return parts.join('\n')
}

function facts(record: JobRecord, now: number): [string, string][] {
  const { attempt, maxAttempts, generation, priority, enqueuedAt, dueAt, startedAt, finishedAt } = record
  const when = (at: number | null): string => (at === null ? '' : `${dateAndTime(at)} (${relative(at, now)})`)
  const unread = record.inbox.length - record.deferred.length
  const found: [string, string][] = [
    ['attempt', `${attempt} of ${maxAttempts}${generation > 1 ? `, generation ${generation}` : ''}`],
    ['priority', priority === 0 ? '' : String(priority)],
    ['machine', innermost(record.machineStates).join(', ')],
    ['version', record.version ?? ''],
    ['unsupported', record.unsupported === null ? '' : record.unsupported.reason],
    ['enqueued', when(enqueuedAt)],
    ['due', when(dueAt)],
    ['started', when(startedAt)],
    ['ended', when(finishedAt)],
    ['worker', record.worker ?? ''],
    ['tags', record.tags.join(', ')],
    ['key', record.key ?? ''],
    ['parent', record.parent?.id ?? ''],
    ['cancelled', record.cancelReason ?? ''],
    ['unread', unread === 0 ? '' : counted(unread, 'message')],
    ['deferred', record.deferred.length === 0 ? '' : counted(record.deferred.length, 'event')],
  ]
  return found.filter(([, text]) => text !== '')
}

const eventText = (message: JobRecord['inbox'][number]['message']): string =>
  message.kind === 'event' ? JSON.stringify(message.event) : message.kind

const indented = (text: string): string =>
  manyLines(text)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')

function errorText({ name, message, code, hint, stack, cause }: ErrorRecord): string {
  const head = stack?.startsWith(name) ? stack : `${name}: ${message}${stack === undefined ? '' : `\n${stack}`}`
  const parts = [`${code === undefined ? '' : `[${code}] `}${head}`]
  if (hint !== undefined) parts.push(`hint: ${hint}`)
  if (cause !== undefined) parts.push(`caused by ${errorText(cause)}`)
  return parts.join('\n')
}

const historyTable = (history: JobRecord['history'], terminal: Terminal): string =>
  table(
    history,
    [
      { title: 'TIME', text: ({ at }) => dateAndTime(at) },
      { title: 'EVENT', text: ({ event }) => event },
      { title: 'TO', text: ({ to }) => to, style: ({ to }) => stateStyles[to] },
      { title: 'ATTEMPT', text: ({ attempt }) => String(attempt), right: true, optional: 1 },
      { title: 'REASON', text: ({ reason }) => reason ?? '', flexible: true, optional: 2 },
      { title: 'WORKER', text: ({ worker }) => worker ?? '', optional: 3 },
    ],
    terminal,
  )
