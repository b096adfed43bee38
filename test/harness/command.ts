/**
 * The command of a proof. It ends with 0 if what it proves holds, with 1 if not, with 2 if it was asked wrongly, with
 * 130 at Ctrl-C.
 */
import { readOptions, usageOf, UsageError, type OptionsOf, type OptionTable } from './options.ts'

export interface Command<T extends OptionTable> {
  /** As it is called: `npm run storm --`. */
  readonly name: string
  readonly options: T
  /** Does what it proves hold? @throws UsageError for options that do not go together */
  readonly run: (options: OptionsOf<T>) => Promise<boolean>
}

/** @returns the exit code */
export async function runCommand<T extends OptionTable>(
  { name, options, run }: Command<T>,
  args: readonly string[] = process.argv.slice(2),
): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  try {
    return (await run(readOptions(options, args))) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`${error.message}\n\n${usageOf(name, options)}`)
    return 2
  }
}
