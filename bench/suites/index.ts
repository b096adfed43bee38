/** The suites, one file each: `<store>.ts` exports `suite`. */
import { readdirSync } from 'node:fs'
import { UsageError } from '../command.ts'
import type { Section, Suite } from '../suite.ts'

const known = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.ts') && file !== 'index.ts')
  .map((file) => file.slice(0, -'.ts'.length))

/** Of all stores. */
export const allSuites = (): Promise<Suite[]> => Promise.all(known.map(findSuite))

/** @throws UsageError naming the stores that there are */
export async function findSuite(store: string): Promise<Suite> {
  if (!known.includes(store)) {
    throw new UsageError(`there is no benchmark for the store ${store}; for now there is: ${known.join(', ')}`)
  }
  const { suite } = (await import(`./${store}.ts`)) as { suite: Suite }
  return suite
}

/**
 * The sections of a run, in the suite's order.
 * @param only names, or what stands before the first dash of names (`growth` for `growth-types`)
 * @throws UsageError for a name that no section has
 */
export function chooseSections({ sections }: Suite, only: readonly string[] | null): Section[] {
  if (only === null) return sections.filter(({ onRequest }) => onRequest !== true)
  const isMeant = (name: string, wish: string): boolean => name === wish || name.startsWith(`${wish}-`)
  for (const wish of only) {
    if (sections.some(({ name }) => isMeant(name, wish))) continue
    throw new UsageError(`there is no section ${wish}; there are: ${sections.map(({ name }) => name).join(', ')}`)
  }
  return sections.filter(({ name }) => only.some((wish) => isMeant(name, wish)))
}
