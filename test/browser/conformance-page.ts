/** The conformance suite on the memory store, as a page runs it. Gives what failed. */
import { memoryStore } from '../../src/stores/memory/index.ts'
import { storeConformance, type ConformanceOptions } from '../../src/store-testing/conformance/index.ts'
import { handClock } from '../stores/hand-clock.ts'

export async function conformance(random: ConformanceOptions['random']) {
  const cases: [name: string, run: () => Promise<void>][] = []
  storeConformance({
    name: 'memory',
    test: (name, run) => cases.push([name, run]),
    async create() {
      const clock = handClock()
      const store = memoryStore()
      await store.open({ clock })
      return { store, advance: (ms) => clock.advance(ms), close: () => store.close() }
    },
    ...(random !== undefined && { random }),
  })
  const failures: string[] = []
  for (const [name, run] of cases) {
    await run().catch((error: unknown) => failures.push(`${name}: ${describe(error)}`))
  }
  return { cases: cases.length, failures }
}

const describe = (error: unknown): string =>
  error instanceof Error ? `${error.message} ${error.cause === undefined ? '' : describe(error.cause)}` : String(error)
