/** Lets mutants live one after the other, in copies of the repository, and sees who notices them. */
import { SourceCopy } from '../support/source-copy.ts'
import { contract, type Mutant } from './mutants.ts'

export interface Sighting {
  readonly mutant: Mutant
  /** The first test that noticed; null if none did. */
  readonly noticedBy: string | null
  readonly seconds: number
}

/** Looks for each, `atOnce` at a time, and tells of each as soon as it is known. */
export async function hunt(
  mutants: readonly Mutant[],
  atOnce: number,
  tell: (sighting: Sighting) => void = () => {},
): Promise<Sighting[]> {
  const left = [...mutants]
  const sightings: Sighting[] = []
  const one = async (): Promise<void> => {
    const copy = new SourceCopy()
    try {
      for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
        const { failed, seconds } = await copy.test(mutant.by ?? contract, mutant)
        const sighting = { mutant, noticedBy: failed[0] ?? null, seconds }
        sightings.push(sighting)
        tell(sighting)
      }
    } finally {
      copy.remove()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return sightings
}

/** The tests that fail although nothing is wrong: with them nothing would be proved. */
export async function failuresOf(files: readonly string[]): Promise<string[]> {
  const copy = new SourceCopy()
  try {
    const failed: string[] = []
    for (const file of files) failed.push(...(await copy.test(file, null)).failed)
    return failed
  } finally {
    copy.remove()
  }
}
