/**
 * Stores jobs of which each is new, has a free key, and finds room; nothing if any does not: then the core decides. Answers the time,
 * the wake-ups, the number before the first transition and the time of the enqueue; or the time and `generic`.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { bornReady, bornTimed } from '../../../core/insert.ts'
import { at, type LuaScript } from './lua.ts'

/**
 * What a job passes: id; the index of its row among those that jobs have in common, and when it is due, a space between them; input;
 * the name of its unique key and meta, a line break between them. Empty for none.
 */
const insertArgs = 4

export const insertScript: LuaScript = {
  stores: true,
  definitions: `
local terms
local function isNone(list) for _, value in ipairs(list) do if value then return false end end return true end
local function hasRoom()
  if terms.room and backlog() > terms.room then return false end
  for _, limit in ipairs(terms.queueRooms or {}) do if backlog(limit[1]) > limit[2] then return false end end
  return true
end

-- When a job is due, if that is later; as an amount of time it begins with a sign.
local function dueOf(text)
  if text == '' then return '' end
  local due = math.ceil(text:sub(1, 1) == '+' and tonumber(now) + tonumber(text:sub(2)) or tonumber(text))
  return due > tonumber(now) and int(due) or ''
end
`,
  call: `
terms = cjson.decode(ARGV[4])
local common = tonumber(ARGV[5])
local ids, names, holders = {}, {}, {}
local metas = {}
for i = 6 + common, #ARGV, ${insertArgs} do
  local id, beside = ARGV[i], ARGV[i + 3]
  ids[#ids + 1] = id
  if beside ~= '' then
    local name, meta = beside:match('^(.-)\\n(.*)$')
    if name ~= '' then
      names[#names + 1] = name
      holders[#holders + 1] = name
      holders[#holders + 1] = id
    end
    if meta ~= '' then
      metas[#metas + 1] = id
      metas[#metas + 1] = meta
    end
  end
end
if not (isNone(values(JOBS, ids)) and isNone(values(P .. 'holders', names)) and isNone(values(P .. 'predecessors', names)) and hasRoom()) then
  return { stamp(), 'generic' }
end

local base = seqNow
advance(#ids)
local rows, inputs = {}, {}
local all = P .. 'all'
local READY = ',' .. now .. ',"ENQUEUE",null,"${bornReady}",0]'
local LATER = ',' .. now .. ',"ENQUEUE",null,"${bornTimed}",0]'
-- What jobs have in common: the row from its attempt on, and the parsed row, in which each has what is its own in turn.
local texts, parsed, numbers = {}, {}, {}
for i = 1, common do
  texts[i] = '\0' .. ARGV[5 + i]
  parsed[i] = parse('1\0\0\0\0\0\0' .. texts[i])
  numbers[i] = 0
end

for i, id in ipairs(ids) do
  local first = ${insertArgs} * i + 2 + common
  local which, due = ARGV[first + 1], ''
  local space = which:find(' ', 1, true)
  if space then which, due = which:sub(1, space - 1), dueOf(which:sub(space + 1)) end
  which = tonumber(which)
  local seq, state, row = int(base + i), due == '' and '${bornReady}' or '${bornTimed}', parsed[which]
  row[${at.seq}], row[${at.wakeAt}], row[${at.state}] = seq, due, state
  index(id, row, 1)
  numbers[which] = numbers[which] + 1
  enter(all, seq, id)
  log(id, row[${at.type}], '[' .. seq .. (due == '' and READY or LATER))
  rows[2 * i - 1] = id
  rows[2 * i] = '1\0' .. seq .. '\0' .. now .. '\0\0\0' .. due .. '\0' .. state .. texts[which]
  local input = ARGV[first + 2]
  if input ~= '' then
    inputs[#inputs + 1] = id
    inputs[#inputs + 1] = input
  end
end
for i, number in ipairs(numbers) do tally(parsed[i][${at.type}], ${enqueueCounted.figure}, number) end
each('HSET', JOBS, rows)
each('HSET', P .. 'data:input', inputs)
each('HSET', P .. 'data:meta', metas)
each('HSET', P .. 'holders', holders)
writeLog(base + #ids)
writeActivity(now)
return { stamp(), finish(), int(base), now }
`,
}
