/** The example, which is run as it is: only its store keeps a history. */
import { registerHooks } from 'node:module'

const recorded = new URL('recorded-sqlite.ts', import.meta.url).href

// A bundle of this program has the store with a history already: see `bundlePrograms`.
registerHooks({
  resolve(specifier, context, next) {
    const isOfExample = specifier === 'jobchart/sqlite' && context.parentURL !== recorded
    return isOfExample ? { url: recorded, shortCircuit: true } : next(specifier, context)
  },
})
await import('../../../examples/order/main.ts')
