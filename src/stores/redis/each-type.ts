/** Figures of many types. */
import { partsOf } from '../remote/parts.ts'
import type { Commands } from './connection.ts'
import { allTypes, figuresFrom, seqField, type TypeFigures } from './figures.ts'
import type { Keys } from './keys.ts'
import type { Scripts } from './scripts.ts'

/**
 * Of each type, some in a call: of thousands of types one call would hold up every other client. So they are not those
 * of one moment.
 * @param types as scripts write them; null = all
 */
export async function figuresOfEach(
  redis: Pick<Commands, 'send'>,
  keys: Keys,
  scripts: Pick<Scripts<'figures'>, 'run'>,
  types: readonly string[] | null = null,
): Promise<ReadonlyMap<string, TypeFigures>> {
  const all = async (): Promise<readonly string[]> => (await redis.send(['HKEYS', keys.figures])) as readonly string[]
  const names = types ?? (await all()).filter((name) => name !== seqField && name !== allTypes)
  const found = new Map<string, TypeFigures>()
  for (const part of partsOf(names)) {
    const [, , , reply] = await scripts.run('figures', ['', ...part])
    for (const [type, figures] of figuresFrom(reply)) found.set(type, figures)
  }
  return found
}
