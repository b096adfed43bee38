/** Lives many lives, as the command says. For the mutants it is imported after the modules were made faultable. */
import { parseCommand, replay, usage, UsageError, type SimulateOptions } from './command.ts'
import { live } from './life.ts'
import { mutants } from './mutants.ts'
import { stores, type StoreFactory } from './stores.ts'

const sayEveryMs = process.stderr.isTTY ? 200 : 10_000
const brokenMax = 10
/**
 * In the short form of the mutants: lives that may pass before one is noticed. Any change of the engine makes other
 * lives of the same seeds.
 */
const shortLives = 1_000

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

/** @returns the first of these seeds whose life breaks a promise; null if none does */
async function noticing(from: number, seeds: number, makeStore: StoreFactory): Promise<number | null> {
  for (let seed = from; seed < from + seeds; seed++) if ((await live(seed, makeStore)).broken.length > 0) return seed
  return null
}

/**
 * Injects the faults one by one. In the short form each begins with the seed that is known to notice it.
 * @returns the mutants that no life noticed
 */
async function findMutants({ seeds, from, store, short }: SimulateOptions): Promise<string[]> {
  Error.stackTraceLimit = 0
  const missed: string[] = []
  for (const { name, fault, seed: known } of mutants) {
    const { on, off } = await fault()
    on()
    const makeStore = stores[store] as StoreFactory
    const seed = await (short ? noticing(known, shortLives, makeStore) : noticing(from, seeds, makeStore))
    off()
    console.log(seed === null ? `NOT NOTICED: ${name}` : `noticed by seed ${seed}: ${name}`)
    if (seed === null) missed.push(name)
  }
  console.log(`${mutants.length - missed.length} of ${mutants.length} mutants noticed`)
  return missed
}

function clear(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

/** @returns the exit code: 1 if a promise was broken, or a mutant not noticed; 2 if asked wrongly */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const options = parseCommand(args)
    const failed = options.mutants ? await findMutants(options) : await simulate(options)
    return failed.length > 0 ? 1 : 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`${error.message}\n\n${usage}`)
    return 2
  }
}
