/**
 * Reads jobs in the order of their due times, from a position on. Many jobs may have the same time: among these the
 * position is found by halves, in the same script, because ranks change with each write.
 */
import type { LuaScript } from './lua.ts'

export const dueScript: LuaScript = {
  definitions: `
-- How many jobs are before a position, or at it.
local function dueUpTo(index, time, place, orAt)
  local low, high = call('ZCOUNT', index, '-inf', '(' .. time), call('ZCOUNT', index, '-inf', time)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = call('ZRANGE', index, middle, middle)[1]:sub(1, 16)
    if other < place or (orAt and other == place) then low = middle + 1 else high = middle end
  end
  return low
end

-- Members and times, at most count of them: after a position, or before it, the latest first. Without a time: from the
-- first.
local function dueFrom(time, place, newest, count)
  local index = P .. 'due'
  if newest then
    local from = time == '' and 0 or call('ZCARD', index) - dueUpTo(index, time, place, false)
    return call('ZREVRANGE', index, from, from + count - 1, 'WITHSCORES')
  end
  local from = time == '' and 0 or dueUpTo(index, time, place, true)
  return call('ZRANGE', index, from, from + count - 1, 'WITHSCORES')
end
`,
  call: '',
  answer: `dueFrom(ARGV[4], ARGV[5], ARGV[6] ~= '', tonumber(ARGV[7]))`,
}
