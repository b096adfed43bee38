/** Settlements and the claim that follows them in one call. Answers what each of the two scripts answers. */
import { claimScript } from './claim.ts'
import type { LuaScript } from './lua.ts'
import { settleScript } from './settle.ts'

export const exchangeScript: LuaScript = {
  definitions: `${settleScript.definitions}${claimScript.definitions}`,
  call: `
local settled = { settleAll(ARGV, 5) }
-- The claim finds what the ends have queued, and room where they have made it.
arrangeGroups()
if call('EXISTS', P .. 'capped') == 1 then uncap() end
local claimed = claimAll(ARGV[4])
`,
  answer: 'settled, claimed',
}
