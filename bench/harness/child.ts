/**
 * The fresh process of one measurement: `child.ts <module> <params as JSON>` calls the module's `measure`. It answers
 * the process that has forked it; run by hand, under a profiler say, it prints.
 */
import { NotVerified } from './ledger.ts'
import type { Answer, Measure } from './fresh.ts'

const [module, params] = process.argv.slice(2) as [string, string]

async function answer(): Promise<Answer<unknown>> {
  try {
    const { measure } = (await import(module)) as { measure: Measure<unknown, unknown> }
    return { result: await measure(JSON.parse(params)) }
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    return { failure: error instanceof NotVerified ? message : (stack ?? message) }
  }
}

// The process that has forked this one has ended: nothing reads the answer.
process.on('disconnect', () => process.exit())
const given = await answer()
if (process.send === undefined) {
  console.log(JSON.stringify(given))
} else {
  // What a measurement leaves behind, such as a timer, must not keep the process from ending.
  process.send(given, () => process.exit(0))
}
