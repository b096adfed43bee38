/** How the tests run: in two forked processes, with the strict (development) build of XState. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const built = 'test/built/**/*.test.ts'
const helpers = ['**/node_modules/**', 'test/.readme/**']

// XState's development build throws on mistakes that its production build swallows. Vite's own `module` condition is
// left out so that packages resolve as they do in Node, where users will run them. Vitest hands the list on to Node.
function conditions(...own: string[]) {
  const all = [...own, 'development', 'node']
  return { resolve: { conditions: all }, ssr: { resolve: { conditions: all, externalConditions: all } } }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    pool: 'forks',
    maxWorkers: 2,
    execArgv: ['--expose-gc'],
    // A test that hangs ends by these; no test proves anything by being quicker.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    dangerouslyIgnoreUnhandledErrors: false,
    reporters: ['default', fileURLToPath(new URL('support/summary-reporter.ts', import.meta.url))],
    projects: [
      {
        ...conditions('@jobchart/source'),
        extends: true,
        test: { name: 'source', include: ['test/**/*.test.ts'], exclude: [...helpers, built] },
      },
      {
        // What starts threads is tested as it is published. A thread that reads TypeScript loads a stripper made of
        // WebAssembly, and V8 aborts now and then where many threads let go of WebAssembly
        // (`jit_page.has_value()`, https://github.com/nodejs/node/issues/64500).
        ...conditions(),
        extends: true,
        test: { name: 'built', include: [built], globalSetup: 'test/support/build.ts' },
      },
    ],
  },
})
