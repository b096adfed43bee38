/** `npm run simulate`: lives many lives, or finds those that notice faults. */
import { makeModulesFaultable } from '../support/faultable-modules.ts'

if (process.argv.includes('--mutants')) makeModulesFaultable()
const { run } = await import('./run.ts')
process.exitCode = await run(process.argv.slice(2))
