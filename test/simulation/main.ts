/** `npm run simulate`: lives many lives. Ends with 1 if a promise was broken in one, with 2 if asked wrongly. */
import { parseCommand, replay, usage, UsageError, type SimulateOptions } from './command.ts'
import { live } from './life.ts'
import { Copy } from './mutate.ts'
import { mutants } from './mutants.ts'
import { stores, type StoreFactory } from './stores.ts'

const sayEveryMs = process.stderr.isTTY ? 200 : 10_000
const brokenMax = 10

/** @returns the seeds of the lives in which a promise was broken */
async function simulate({ seeds, from, store, trace, first }: SimulateOptions): Promise<number[]> {
  // Errors are thrown on purpose by the thousand: nobody reads their stacks.
  if (seeds > 1) Error.stackTraceLimit = 0
  const began = performance.now()
  const failed: number[] = []
  let saidAt = began
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await live(seed, stores[store] as StoreFactory)
    if (trace) console.log(outcome.trace.join('\n'))
    if (outcome.broken.length > 0) {
      failed.push(seed)
      clear()
      console.log(`seed ${seed}:\n${outcome.broken.slice(0, brokenMax).join('\n')}\n  ${replay(store, seed)}`)
      if (first) return failed
    }
    if (performance.now() - saidAt < sayEveryMs) continue
    saidAt = performance.now()
    const lived = seed - from + 1
    const perSecond = (lived / (saidAt - began)) * 1_000
    clear()
    const line = `${lived} of ${seeds} lives, ${failed.length} broken, ${perSecond.toFixed(0)}/s`
    process.stderr.write(process.stderr.isTTY ? line : `${line}\n`)
  }
  clear()
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  const lives = `${seeds} lives on ${store}, seeds ${from} to ${from + seeds - 1}, in ${seconds} s`
  console.log(
    failed.length === 0 ? `every promise kept: ${lives}` : `promises broken by seeds ${failed.join(', ')}: ${lives}`,
  )
  return failed
}

/** @returns the mutants that nobody noticed */
async function findMutants({ seeds, from }: SimulateOptions): Promise<string[]> {
  const copy = new Copy()
  const missed: string[] = []
  for (const mutant of mutants) {
    const { caught, output } = await copy.simulate(mutant, ['--from', `${from}`, '--seeds', `${seeds}`])
    const seed = /^seed (\d+):$/m.exec(output)?.[1]
    console.log(caught ? `noticed by seed ${seed}: ${mutant.name}` : `NOT NOTICED: ${mutant.name}`)
    if (!caught) missed.push(mutant.name)
  }
  copy.remove()
  console.log(`${mutants.length - missed.length} of ${mutants.length} mutants noticed`)
  return missed
}

function clear(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

try {
  const options = parseCommand(process.argv.slice(2))
  const failed = options.mutants ? await findMutants(options) : await simulate(options)
  if (failed.length > 0) process.exitCode = 1
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
