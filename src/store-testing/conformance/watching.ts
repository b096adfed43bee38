/** Waits for hints of a store during an action. */
import assert from 'node:assert/strict'
import type { Hint, Store } from '../../store.ts'

/** Runs an action while watching, and waits until the hint has arrived. */
export async function hinted(
  store: Store,
  kind: Hint['kind'],
  about: string | null,
  act: () => unknown,
): Promise<Hint> {
  const hints: Hint[] = []
  const unwatch = store.watch((hint) => hints.push(hint))
  try {
    await act()
    const isIt = (hint: Hint): boolean => hint.kind === kind && (about === null || JSON.stringify(hint).includes(about))
    // Hints of a remote store arrive asynchronously: each call to the store gives them time.
    for (let asked = 0; asked < 2_000 && !hints.some(isIt); asked++) await store.counts()
    const hint = hints.find(isIt)
    assert.ok(hint !== undefined, `no hint ${kind} of ${about ?? 'anything'} among ${JSON.stringify(hints)}`)
    return hint
  } finally {
    unwatch()
  }
}
