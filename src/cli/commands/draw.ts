/** `jobchart draw`: the chart of a machine, as a picture or as text. */
import { writeFile } from 'node:fs/promises'
import { Option, type Command } from 'commander'
import type { ChartSource } from '../../chart/index.ts'
import { JobchartError } from '../../core/errors.ts'
import { errorFields } from '../errors.ts'
import { exitCodes } from '../exit-codes.ts'
import { isJobDefinition, isMachine, loadModule } from '../modules.ts'
import { integer, type OutputOptions } from '../options.ts'
import type { Program } from '../command.ts'

const formats = ['text', 'svg', 'mermaid', 'dot', 'json'] as const

interface DrawOptions extends OutputOptions {
  readonly format: (typeof formats)[number]
  readonly output?: string
  readonly theme: 'auto' | 'light' | 'dark'
  readonly direction: 'auto' | 'right' | 'down'
  readonly depth?: number
}

export function drawCommand({ command, terminal, run }: Program): Command {
  return command('draw', 'draw the chart of a machine, or of a machine job')
    .argument('<file#export>', 'the module and the name of its export; without a name, its only machine')
    .addOption(new Option('-f, --format <format>', 'the format').choices(formats).default('text'))
    .option('-o, --output <file>', 'write to this file instead of the standard output')
    .addOption(new Option('--theme <theme>', 'of an SVG').choices(['auto', 'light', 'dark']).default('auto'))
    .addOption(
      new Option('--direction <direction>', 'where arrows lead').choices(['auto', 'right', 'down']).default('auto'),
    )
    .option('--depth <levels>', 'how many levels of states are drawn; JSON has all', integer(1, 1_000))
    .option('--json', 'the same as --format json: the chart as data')
    .option('--verbose', 'print the stack and the causes of an error')
    .action((place: string, options: DrawOptions) =>
      run(options, async () => {
        const picture = await drawn(await machineAt(place), options)
        if (options.output === undefined) await terminal.print(picture.trimEnd())
        else await write(options.output, picture)
        return exitCodes.done
      }),
    )
}

async function write(file: string, picture: string): Promise<void> {
  try {
    await writeFile(file, picture)
  } catch (error) {
    const { message } = errorFields(error)
    const hint = 'Name a file in a folder that exists and may be written to.'
    throw new JobchartError('INVALID_OPTION', `--output ${file} cannot be written: ${message}`, { hint, cause: error })
  }
}

async function drawn(machine: ChartSource, { format, json, theme, direction, depth }: DrawOptions): Promise<string> {
  const { toDot, toGraph, toMermaid, toSvg, toText } = await import('../../chart/index.ts')
  const cut = depth === undefined ? {} : { depth }
  switch (json ? 'json' : format) {
    case 'svg':
      return toSvg(machine, { theme, direction, ...cut })
    case 'mermaid':
      return toMermaid(machine, { direction, ...cut })
    case 'dot':
      return toDot(machine, { ...(direction !== 'auto' && { direction }), ...cut })
    case 'json':
      return `${JSON.stringify(toGraph(machine), null, 2)}\n`
    case 'text':
      return toText(machine, cut)
  }
}

async function machineAt(place: string): Promise<ChartSource> {
  const at = place.lastIndexOf('#')
  const [file, name] = at === -1 ? [place, null] : [place.slice(0, at), place.slice(at + 1)]
  const machines = new Map(
    Object.entries(await loadModule(file)).flatMap(([key, value]) => {
      const machine = machineIn(value)
      return machine === null ? [] : [[key, machine] as const]
    }),
  )
  const names = [...machines.keys()]
  const [first, second] = names
  const machine = machines.get(name ?? (second === undefined ? first : 'default') ?? '')
  if (machine !== undefined) return machine
  const hint = first === undefined ? 'Export a machine, or a job that has one.' : `It exports: ${names.join(', ')}.`
  const what =
    name === null && second !== undefined
      ? `several machines: name one, ${file}#${first}`
      : `no machine${name === null ? '' : ` ${name}`}`
  throw new JobchartError('INVALID_OPTION', `${file} exports ${what}`, { hint })
}

const machineIn = (value: unknown): ChartSource | null =>
  isJobDefinition(value) ? (value.machine?.charts.at(-1)?.machine ?? null) : isMachine(value) ? value : null
