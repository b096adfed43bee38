/** How the tests run: on the sources, in two forked processes, with the strict (development) build of XState. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// XState's development build throws on mistakes that its production build swallows. Vite's own `module` condition is
// left out so that packages resolve as they do in Node, where users will run them. Vitest hands the list on to Node.
const conditions = ['@jobchart/source', 'development', 'node']

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'test/.readme/**'],
    pool: 'forks',
    maxWorkers: 2,
    execArgv: ['--expose-gc'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    dangerouslyIgnoreUnhandledErrors: false,
    reporters: ['default', fileURLToPath(new URL('support/summary-reporter.ts', import.meta.url))],
  },
})
