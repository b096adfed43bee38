/**
 * Removes ended jobs, each if it is still the one that the transition of this number has ended, and sets when types are
 * looked at again, unless the numbers of their ended jobs have changed since they were read. Answers the time, the
 * wake-ups, and those that have a machine or a parent: they stand in more indexes, and are left to the core.
 */
import { flagLetters } from '../row-text.ts'
import { at, fieldsOfLetters, type LuaScript } from './lua.ts'

export const removeScript: LuaScript = {
  definitions: `
local FIELDS = ${fieldsOfLetters}
`,
  call: `
local ids, gone, data, others = {}, {}, {}, {}
for letter in pairs(FIELDS) do data[letter] = {} end
local looked, first = cjson.decode(ARGV[4]), 5
for i = first, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
for i, text in ipairs(values(JOBS, ids)) do
  local id, row = ids[i], text and parse(text)
  local isThere = row and INDEX[row[${at.state}]] == 'ended' and row[${at.last}] == ARGV[first + 2 * i - 1]
  if isThere and row[${at.has}]:find('${flagLetters.machine}', 1, true) then
    others[#others + 1] = id
  elseif isThere then
    index(id, row, -1)
    leave(P .. 'all', id)
    gone[#gone + 1] = id
    local has = row[${at.has}]
    for letter in has:gmatch('%a') do
      local list = data[letter]
      if list then list[#list + 1] = id end
    end
    if has:find('${flagLetters.steps}', 1, true) then call('DEL', P .. 'steps:' .. id) end
    if row[${at.failure}] ~= '' then leave(P .. 'failing:' .. row[${at.failure}], id) end
  end
end
each('HDEL', JOBS, gone)
-- Before the numbers of what was removed here are written.
for _, look in ipairs(looked) do
  local type, at, counted = look[1], look[2], look[3]
  local isSame = true
  for state, number in pairs(counted) do if countOf(state, type) ~= tonumber(number) then isSame = false end end
  if isSame then looks[type] = at end
end
for letter, list in pairs(data) do each('HDEL', P .. 'data:' .. FIELDS[letter], list) end
`,
  answer: 'others',
}
