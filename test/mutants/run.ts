/** Hunts the mutants of the stores and the core. Imported after the modules were made faultable. */
import { runCommand } from '../harness/command.ts'
import { isLong } from '../harness/long-form.ts'
import { text } from '../harness/options.ts'
import { allCases } from './cases.ts'
import { hunt, runSound, type Sighting } from './hunt.ts'
import { mutants, shortEvery } from './mutants.ts'

/** @returns the exit code */
export const run = (): Promise<number> =>
  runCommand({
    name: 'npm run mutants --',
    options: { only: text('part', 'those whose names have this part') },
    run: ({ only }) => huntAll(only ?? ''),
  })

/** @returns is each noticed? */
async function huntAll(part: string): Promise<boolean> {
  const named = mutants.filter(({ name }) => name.includes(part))
  const chosen = isLong || part !== '' ? named : named.filter((_, index) => index % shortEvery === 0)
  const { cases, end } = await allCases()
  try {
    const names = isLong ? cases.keys() : chosen.map(({ noticedBy }) => noticedBy)
    console.error(`${chosen.length} mutants; first the cases without any mistake`)
    const { failed, msOf } = await runSound(names, cases)
    if (failed.length > 0) {
      console.error(`these fail without any mistake: ${failed.join('; ')}`)
      return false
    }
    const width = Math.max(0, ...chosen.map(({ name }) => name.length))
    const line = ({ mutant, noticedBy, seconds }: Sighting): string =>
      [mutant.name.padEnd(width), seconds.toFixed(1).padStart(5), noticedBy ?? '✗ NOBODY'].join('  ')
    const start = performance.now()
    const sightings = await hunt(chosen, cases, isLong, msOf, (sighting) => console.log(line(sighting)))
    const alive = sightings.filter(({ noticedBy }) => noticedBy === null)
    const seconds = Math.round((performance.now() - start) / 1_000)
    console.log(`${sightings.length - alive.length} of ${sightings.length} mutants noticed, in ${seconds} s`)
    return alive.length === 0
  } finally {
    end()
  }
}
