/**
 * `npm run mutants [-- --short] [-- part of a name]`: every mutant, who notices it, and how long that took. Ends with 1
 * if one lives on. The short form asks of each mutant the one case that notices it.
 */
import { makeModulesFaultable } from '../support/faultable-modules.ts'

makeModulesFaultable()
const { run } = await import('./run.ts')
// A fault may have left timers and open files behind.
process.exit(await run(process.argv.slice(2)))
