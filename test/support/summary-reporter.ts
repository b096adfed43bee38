/** Ends a test run with one line that a person and a script can both read: `12 passed, 0 failed`. */
import type { Reporter, TestModule } from 'vitest/node'

export interface Summary {
  passed: number
  failed: number
  skipped: number
}

type Result = Pick<TestModule, 'state'> & { children: { allTests(): Iterable<{ result(): { state: string } }> } }

/** Counts tests. A file that fails outside its tests, and an error outside every file, count as one failure each. */
export function summarise(modules: Iterable<Result>, unhandledErrors: number): Summary {
  const summary: Summary = { passed: 0, failed: unhandledErrors, skipped: 0 }
  for (const module of modules) {
    const failedBefore = summary.failed
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') summary.passed += 1
      else if (state === 'skipped') summary.skipped += 1
      else summary.failed += 1
    }
    if (module.state() === 'failed' && summary.failed === failedBefore) summary.failed += 1
  }
  return summary
}

export function summaryLine({ passed, failed, skipped }: Summary): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const summary = summarise(modules, unhandledErrors.length)
    // At exit, because whatever else has something to say must have said it before the last line.
    process.once('exit', (code) => {
      const skipsForbidden = process.env['CI'] === 'true' && summary.skipped > 0
      if (skipsForbidden) {
        console.error('A skipped test proves nothing: under CI=true it fails the run.')
        process.exitCode = code === 0 ? 1 : code
      }
      console.log(summaryLine(summary))
    })
  }
}
