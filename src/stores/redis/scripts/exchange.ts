/** Settlements and the claim that follows them in one call. Answers what each of the two scripts answers. */
import { figureAt } from '../figures.ts'
import { claimScript } from './claim.ts'
import type { LuaScript } from './lua.ts'
import { settleScript } from './settle.ts'

export const exchangeScript: LuaScript = {
  definitions: `${settleScript.definitions}${claimScript.definitions}`,
  typed: true,
  call: `
local settled = { settleAll(ARGV, 6) }
-- The claim finds what the ends have queued, and room where they have made it.
arrangeGroups()
if figuresOf('')[${figureAt.waits}] == 1 then uncap() end
local claimed = claimAll(ARGV[5])
`,
  answer: 'settled, claimed',
}
