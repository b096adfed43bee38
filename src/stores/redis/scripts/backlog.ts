/** The part of the scripts that knows how long the backlog is. */
import { backlogStates } from './lua.ts'

export const backlogLua = `
-- Of a type, or of all.
local function backlog(type)
  local sum = 0
  for _, state in ipairs(${backlogStates}) do
    sum = sum + tonumber(call('HGET', P .. 'counts', type and state .. ':' .. type or state) or '0')
  end
  return sum
end
`
