/** How the tests run: in forked processes, with the strict (development) build of XState. */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const built = 'test/built/**/*.test.ts'
const helpers = ['**/node_modules/**', 'test/.readme/**']
/**
 * What measures the heap, counts timers, listens to the signals of its process, asks which modules are loaded or mocks
 * one.
 */
export const isolated = [
  'test/api/retention/memory.test.ts',
  'test/api/start-and-stop/signals.test.ts',
  'test/api/start-and-stop/stop-without-store.test.ts',
  'test/chart/loading.test.ts',
  'test/core/lifecycle.test.ts',
  'test/dashboard/live-jobs.test.ts',
  'test/stores/memory-growth.test.ts',
  'test/stores/sqlite-added-state.test.ts',
  'test/stores/sqlite-migrating.test.ts',
  'test/stores/sqlite-opening.test.ts',
  'test/worker/broken-lanes.test.ts',
]

/** What promises a time: it runs when all others have ended. */
const timed = ['test/dashboard/latency-*.test.ts', 'test/stores/redis-stop.test.ts']

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
    // Two more than there are cores: many tests wait for processes of their own, for disks and for browsers.
    maxWorkers: Math.min(availableParallelism() + 2, 8),
    execArgv: ['--expose-gc'],
    // A test that hangs ends by these; no test proves anything by being quicker.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    // Files share a process: none leaves its spies or its environment to the next.
    restoreMocks: true,
    unstubEnvs: true,
    dangerouslyIgnoreUnhandledErrors: false,
    reporters: ['default', fileURLToPath(new URL('support/summary-reporter.ts', import.meta.url))],
    projects: [
      {
        ...conditions('@jobchart/source'),
        extends: true,
        // One process runs many files and loads the sources once: the sources keep no state in their modules.
        test: {
          name: 'source',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...helpers, built, ...isolated, ...timed],
          globalSetup: 'test/harness/bundle.ts',
        },
      },
      {
        ...conditions('@jobchart/source'),
        extends: true,
        test: { name: 'isolated', include: isolated, globalSetup: 'test/harness/bundle.ts' },
      },
      {
        ...conditions('@jobchart/source'),
        extends: true,
        test: {
          name: 'timed',
          include: timed,
          globalSetup: 'test/harness/bundle.ts',
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
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
