/** `npm run mutants [-- part of a name]`: every mutant, who notices it, and how long that took. Ends with 1 if one lives on. */
import { availableParallelism } from 'node:os'
import { failuresOf, hunt, type Sighting } from './hunt.ts'
import { contract, mutants } from './mutants.ts'

const wanted = process.argv[2] ?? ''
const chosen = mutants.filter(({ name }) => name.includes(wanted))
const files = [...new Set(chosen.map(({ by }) => by ?? contract))]
console.error(`${chosen.length} mutants; first without any mistake: ${files.join(', ')}`)
const broken = await failuresOf(files)
if (broken.length > 0) throw new Error(`these fail without any mistake: ${broken.join('; ')}`)

const width = Math.max(...chosen.map(({ name }) => name.length))
const line = ({ mutant, noticedBy, seconds }: Sighting): string =>
  [mutant.name.padEnd(width), seconds.toFixed(1).padStart(5), noticedBy ?? '✗ NOBODY'].join('  ')
const start = performance.now()
const sightings = await hunt(chosen, Math.min(availableParallelism(), 4), (sighting) => console.log(line(sighting)))
const alive = sightings.filter(({ noticedBy }) => noticedBy === null)
const seconds = Math.round((performance.now() - start) / 1_000)
console.log(`${sightings.length - alive.length} of ${sightings.length} mutants noticed, in ${seconds} s`)
if (alive.length > 0) process.exitCode = 1
