/**
 * `npm run mutants [-- --only part-of-a-name]`: every mutant, who notices it, and how long that took. The short form
 * asks of every fourth mutant the case that notices it, the long one of each mutant all cases until one does.
 */
import { makeModulesFaultable } from '../support/faultable-modules.ts'

makeModulesFaultable()
const { run } = await import('./run.ts')
// A fault may have left timers and open files behind.
process.exit(await run())
