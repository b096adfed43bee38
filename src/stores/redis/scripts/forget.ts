/**
 * Removes what is kept for the limits of types, a day after it was last used and not before the time of their rates has
 * passed: windows of keys, whoever uses the type; all else if no registered worker lists the type and none of its jobs
 * is live. A step of a bounded size.
 */
import type { LuaScript } from './lua.ts'
import { limitsKeptMs, windowsLua } from './windows.ts'

/** Types that one step looks at, and windows that it removes. */
const stepMax = { types: 10, windows: 500 }

export const forgetScript: LuaScript = {
  definitions: `
${windowsLua}
local function hasLiveJob(type)
  for state in pairs(STATES) do
    if INDEX[state] ~= 'ended' and countOf(state, type) > 0 then return true end
  end
  return false
end

-- Removes windows of keys that have nothing in them any more. Gives how many.
local function forgetWindows(type, most)
  local lapsed = call('ZRANGEBYSCORE', P .. 'lapses:' .. type, '-inf', now, 'LIMIT', 0, most)
  for _, key in ipairs(lapsed) do call('UNLINK', keyWindow(type, key)) end
  each('ZREM', P .. 'lapses:' .. type, lapsed)
  return #lapsed
end

local function forgetLimits(type)
  for _, index in ipairs(call('LRANGE', P .. 'unarranged:' .. type, 0, -1)) do call('UNLINK', P .. 'unarranged-keys:' .. index) end
  for _, name in ipairs({ 'unarranged:', 'limited:', 'limits:', 'held:', 'starts:' }) do call('UNLINK', P .. name .. type) end
  call('UNLINK', rateWindow(type))
  for _, name in ipairs({ 'shares', 'caps', 'key-rates', 'key-rates-at', 'terms' }) do call('HDEL', P .. name, type) end
  call('ZREM', P .. 'limit-looks', type)
end
`,
  call: `
local left = ${stepMax.windows}
for _, type in ipairs(call('ZRANGEBYSCORE', P .. 'limit-looks', '-inf', now, 'LIMIT', 0, ${stepMax.types})) do
  left = left - forgetWindows(type, left)
  -- The next step goes on with it.
  if left == 0 then break end
  local later = call('ZRANGE', P .. 'lapses:' .. type, -1, -1, 'WITHSCORES')[2]
  if later or registeredWorkers().listing[type] or hasLiveJob(type) then
    call('ZADD', P .. 'limit-looks', later or int(nowMs + ${limitsKeptMs}), type)
  else
    forgetLimits(type)
  end
end
`,
  answer: '',
}
