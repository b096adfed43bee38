/** `npm run simulate`: lives many lives. Ends with 1 if a promise was broken in one, with 2 if asked wrongly. */
import { makeModulesFaultable } from '../support/faultable-modules.ts'

const args = process.argv.slice(2)
if (args.includes('--mutants')) makeModulesFaultable()
const { run } = await import('./run.ts')
process.exitCode = await run(args)
