/**
 * Removes ended jobs, each if it is still the one that the transition of this number has ended, and sets when types are
 * looked at again, unless so many jobs have ended since that they are to be looked at now. Answers the time, the
 * wake-ups, and those that have a machine or a parent: they stand in more indexes, and are left to the core.
 */
import { flagLetters } from '../row-text.ts'
import { grownState } from './blocks.ts'
import { at, fieldsOfLetters, type LuaScript } from './lua.ts'
import { restLua } from './rest.ts'
import { termsLua } from './terms.ts'

export const removeScript: LuaScript = {
  definitions: `
${restLua}${termsLua}
local FIELDS = ${fieldsOfLetters}
`,
  call: `
local ids, numbers, types, gone, data, others = {}, {}, {}, {}, {}, {}
for letter in pairs(FIELDS) do data[letter] = {} end
local request, next, grown, leaves, upto = cjson.decode(ARGV[4]), 5, {}, {}, indexedUpTo()
while next <= #ARGV do
  local type, first, amount = ARGV[next], tonumber(ARGV[next + 1]), tonumber(ARGV[next + 2])
  for i = 1, amount do
    local n = #ids + 1
    ids[n], numbers[n], types[n] = ARGV[next + 2 + i], first + i - 1, type
  end
  next = next + 3 + amount
end
for i, text in ipairs(values(JOBS, ids)) do
  local id, number, type = ids[i], numbers[i], types[i]
  local own = text and endOf(text)
  local row = text and not own and parse(text)
  local isThere = row and INDEX[row[${at.state}]] == 'ended' and tonumber(row[${at.last}]) == number
  if own then
    -- Nothing is kept beside it.
    if own == number then
      grown[type] = (grown[type] or 0) + 1
      gone[#gone + 1] = id
      if upto > 0 and upto >= tonumber(text:match('^%Z*%z(%d+)')) then
        leaves[#leaves + 1] = id
        leaves[#leaves + 1] = parse(text)
      end
    end
  elseif isThere and row[${at.has}]:find('${flagLetters.machine}', 1, true) then
    others[#others + 1] = id
  elseif isThere then
    leaves[#leaves + 1] = id
    leaves[#leaves + 1] = row
    index(id, row, -1)
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
if upto > 0 then leaveTerms(leaves) end
each('HDEL', JOBS, gone)
for type, amount in pairs(grown) do
  count('${grownState}', type, -amount)
  looks[type] = '0'
end
-- Up to these numbers no job stands in the indexes any more.
for _, trim in ipairs(request.trims or {}) do
  local key = P .. 'ended:' .. trim[1] .. ':' .. trim[2]
  call('XTRIM', key, 'MINID', int(trim[3] + 1))
  if call('XLEN', key) == 0 then call('DEL', key) end
end
tidyAll(2 * #gone + 10)
for _, look in ipairs(request.looks or {}) do
  local type, at, upTo = look[1], look[2], look[3]
  local isWithin = true
  for state, most in pairs(upTo) do isWithin = isWithin and countOf(state, type) <= most end
  if isWithin then
    looks[type] = at
    -- 1 says that it is to be looked at.
    looksFrom[type] = upTo.${grownState} > 1 and upTo.${grownState} or 0
  end
end
for letter, list in pairs(data) do each('HDEL', P .. 'data:' .. FIELDS[letter], list) end
`,
  answer: 'others',
}
