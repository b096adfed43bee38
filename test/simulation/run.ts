/** Lives many lives, as the command says. For the mutants it is imported after the modules were made faultable. */
import { runCommand } from '../harness/command.ts'
import { isLong } from '../harness/long-form.ts'
import { Progress } from '../harness/progress.ts'
import { replay, simulateTable, type SimulateOptions } from './command.ts'
import { live } from './life.ts'
import { mutants } from './mutants.ts'
import { stores, type StoreFactory } from './stores.ts'

const brokenMax = 10
/**
 * In the short form: lives that may pass before a mutant is noticed. Any change of the engine makes other lives of the
 * same seeds.
 */
const shortLives = 1_000

/** @returns the seeds of the lives in which a promise was broken */
async function simulate({ seeds, from, store, trace, first }: SimulateOptions): Promise<number[]> {
  // Errors are thrown on purpose by the thousand: nobody reads their stacks.
  if (seeds > 1) Error.stackTraceLimit = 0
  const began = performance.now()
  const progress = new Progress()
  const failed: number[] = []
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await live(seed, stores[store] as StoreFactory)
    if (trace) console.log(outcome.trace.join('\n'))
    if (outcome.broken.length > 0) {
      failed.push(seed)
      progress.end()
      console.log(`seed ${seed}:\n${outcome.broken.slice(0, brokenMax).join('\n')}\n  ${replay(store, seed)}`)
      if (first) return failed
    }
    progress.say(() => {
      const lived = seed - from + 1
      const perSecond = (lived / (performance.now() - began)) * 1_000
      return `${lived} of ${seeds} lives, ${failed.length} broken, ${perSecond.toFixed(0)}/s`
    })
  }
  progress.end()
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
async function findMutants({ seeds, from, store }: SimulateOptions): Promise<string[]> {
  Error.stackTraceLimit = 0
  const missed: string[] = []
  for (const { name, fault, seed: known } of mutants) {
    const { on, off } = await fault()
    on()
    const makeStore = stores[store] as StoreFactory
    const seed = await (isLong ? noticing(from, seeds, makeStore) : noticing(known, shortLives, makeStore))
    off()
    const since = seed === null || isLong || seed === known ? '' : `, ${seed - known} lives after the one that is known`
    console.log(seed === null ? `NOT NOTICED: ${name}` : `noticed by seed ${seed}${since}: ${name}`)
    if (seed === null) missed.push(name)
  }
  console.log(`${mutants.length - missed.length} of ${mutants.length} mutants noticed`)
  return missed
}

export const run = (args: readonly string[]): Promise<number> =>
  runCommand(
    {
      name: 'npm run simulate --',
      options: simulateTable,
      run: async (options) => (await (options.mutants ? findMutants(options) : simulate(options))).length === 0,
    },
    args,
  )
