/**
 * Sets how long ended jobs are kept. The ended jobs of a type are looked at again if its policy has changed; of all
 * types, if that of the types without one has.
 */
import type { LuaScript } from './lua.ts'

export const retainScript: LuaScript = {
  definitions: '',
  call: `
local types, written, looked = {}, {}, {}
for i = 4, #ARGV, 2 do types[#types + 1] = ARGV[i] end
for i, policy in ipairs(values(P .. 'retention', types)) do
  if policy ~= ARGV[2 * i + 3] then
    written[#written + 1] = types[i]
    written[#written + 1] = ARGV[2 * i + 3]
    looked[types[i]] = true
  end
end
each('HSET', P .. 'retention', written)
local key = P .. 'looks'
if looked[''] then
  -- A weight of 0 sets every score to 0, also that of a type that was not to be looked at.
  if call('EXISTS', key) == 1 then call('ZUNIONSTORE', key, 1, key, 'WEIGHTS', 0) end
else
  for type in pairs(looked) do call('ZADD', key, 'XX', 0, type) end
end
`,
  answer: '',
}
