/** Interleaved rounds, A B C A B C …: what the machine does meanwhile, it does to all of them. */
import type { Bench } from '../suite.ts'
import { busyShare } from './busy.ts'

/** Calls each measurement once per round. Gives the results of each, by its name, in the order of the rounds. */
export async function interleaved<Name extends string, R>(
  bench: Pick<Bench, 'progress' | 'sampled'>,
  rounds: number,
  measurements: Readonly<Record<Name, () => Promise<R>>>,
): Promise<Record<Name, R[]>> {
  const all = Object.entries<() => Promise<R>>(measurements)
  const results = Object.fromEntries(all.map(([name]) => [name, [] as R[]])) as Record<Name, R[]>
  let done = 0
  for (let round = 1; round <= rounds; round++) {
    for (const [name, measure] of all) {
      bench.progress(done++, rounds * all.length, rounds === 1 ? name : `${name}, round ${round} of ${rounds}`)
      bench.sampled({ name, round, busy: await busyShare() })
      results[name as Name].push(await measure())
    }
  }
  return results
}
