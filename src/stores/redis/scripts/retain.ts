/** Sets how long ended jobs are kept. All ended jobs are looked at again if a policy has changed. */
import type { LuaScript } from './lua.ts'

export const retainScript: LuaScript = {
  definitions: '',
  call: `
local types, written = {}, {}
for i = 4, #ARGV, 2 do types[#types + 1] = ARGV[i] end
for i, policy in ipairs(values(P .. 'retention', types)) do
  if policy ~= ARGV[2 * i + 3] then
    written[#written + 1] = types[i]
    written[#written + 1] = ARGV[2 * i + 3]
  end
end
each('HSET', P .. 'retention', written)
-- A weight of 0 sets every score to 0, also that of a type that was not to be looked at.
if #written > 0 and call('EXISTS', P .. 'looks') == 1 then call('ZUNIONSTORE', P .. 'looks', 1, P .. 'looks', 'WEIGHTS', 0) end
`,
  answer: '',
}
