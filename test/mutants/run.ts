/** Hunts the mutants of the SQLite store. Imported after the modules were made faultable. */
import { parseArgs } from 'node:util'
import { allCases } from './cases.ts'
import { hunt, runSound, type Sighting } from './hunt.ts'
import { mutants } from './mutants.ts'

/** @returns the exit code */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { short: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [part = ''] = positionals
  const chosen = mutants.filter(({ name }) => name.includes(part))
  const { cases, end } = await allCases()
  try {
    const names = values.short ? chosen.map(({ noticedBy }) => noticedBy) : cases.keys()
    console.error(`${chosen.length} mutants; first the cases without any mistake`)
    const { failed, msOf } = await runSound(names, cases)
    if (failed.length > 0) {
      console.error(`these fail without any mistake: ${failed.join('; ')}`)
      return 1
    }
    const width = Math.max(0, ...chosen.map(({ name }) => name.length))
    const line = ({ mutant, noticedBy, seconds }: Sighting): string =>
      [mutant.name.padEnd(width), seconds.toFixed(1).padStart(5), noticedBy ?? '✗ NOBODY'].join('  ')
    const start = performance.now()
    const sightings = await hunt(chosen, cases, !values.short, msOf, (sighting) => console.log(line(sighting)))
    const alive = sightings.filter(({ noticedBy }) => noticedBy === null)
    const seconds = Math.round((performance.now() - start) / 1_000)
    console.log(`${sightings.length - alive.length} of ${sightings.length} mutants noticed, in ${seconds} s`)
    return alive.length > 0 ? 1 : 0
  } finally {
    end()
  }
}
