import type { Subject } from '../../src/store-testing/conformance/index.ts'
import type { Store } from '../../src/store.ts'

/** Calls go to the one and the other in turn, one by one: what one of them remembers, the other has changed. */
function inTurn(one: Store, other: Store): Store {
  let calls = 0
  let last: Promise<unknown> = Promise.resolve()
  const turned = Object.keys(one).flatMap((name) => {
    const methods = [one, other].map((store) => (store as unknown as Record<string, unknown>)[name])
    if (typeof methods[0] !== 'function') return []
    const call = (...args: unknown[]): unknown => {
      const method = methods[calls++ % 2] as (...args: unknown[]) => unknown
      const answer = last.then(() => method(...args))
      last = answer.catch(() => {})
      return answer
    }
    return [[name, call]]
  })
  const watch: Store['watch'] = (listener) => {
    const ends = [one.watch(listener), other.watch(listener)]
    return () => ends.forEach((end) => end())
  }
  return { ...one, ...(Object.fromEntries(turned) as Partial<Store>), now: () => one.now(), watch }
}

/** Two stores of the same jobs as one subject, which are open. @param clock that of both */
export const subjectInTurn = (one: Store, other: Store, clock: Pick<Subject, 'advance'>): Subject => ({
  store: inTurn(one, other),
  advance: (ms) => clock.advance(ms),
  async close() {
    await one.close()
    await other.close()
  },
})
