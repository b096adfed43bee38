/**
 * Stores jobs of which each is new, has a free key, and finds room; nothing if any does not: then the core decides. Answers the time,
 * the wake-ups, the number before the first transition and the time of the enqueue; or the time and `generic`.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { bornReady, bornTimed } from '../../../core/insert.ts'
import { backlogLua } from './backlog.ts'
import { at } from './lua.ts'
import { prelude } from './prelude.ts'

/** What a job passes: id, when it is due, its row from `attempt` on, input, meta, the name of its unique key; empty for none. */
const insertArgs = 6

export const insertScript = `${prelude}${backlogLua}
local terms = cjson.decode(ARGV[4])
local ids, names, holders = {}, {}, {}
for i = 5, #ARGV, ${insertArgs} do
  ids[#ids + 1] = ARGV[i]
  local name = ARGV[i + 5]
  if name ~= '' then
    names[#names + 1] = name
    holders[#holders + 1] = name
    holders[#holders + 1] = ARGV[i]
  end
end
local function isNone(list) for _, value in ipairs(list) do if value then return false end end return true end
local function hasRoom()
  if terms.room and backlog() > terms.room then return false end
  for _, limit in ipairs(terms.queueRooms or {}) do if backlog(limit[1]) > limit[2] then return false end end
  return true
end
if not (isNone(values(JOBS, ids)) and isNone(values(P .. 'holders', names)) and isNone(values(P .. 'predecessors', names)) and hasRoom()) then
  return { stamp(), 'generic' }
end

local base = seqNow
advance(#ids)
local rows, inputs, metas = {}, {}, {}
local all = P .. 'all'
local READY = ',' .. now .. ',"ENQUEUE",null,"${bornReady}",0]'
local LATER = ',' .. now .. ',"ENQUEUE",null,"${bornTimed}",0]'

-- When a job is due, if that is later; as an amount of time it begins with a sign.
local function dueOf(text)
  if text == '' then return '' end
  local due = math.ceil(text:sub(1, 1) == '+' and tonumber(now) + tonumber(text:sub(2)) or tonumber(text))
  return due > tonumber(now) and int(due) or ''
end

for i, id in ipairs(ids) do
  local first = ${insertArgs} * (i - 1) + 5
  local seq, due = int(base + i), dueOf(ARGV[first + 1])
  local text = '1\\0' .. seq .. '\\0' .. now .. '\\0\\0\\0' .. due .. '\\0' .. (due == '' and '${bornReady}' or '${bornTimed}')
    .. '\\0' .. ARGV[first + 2]
  local row = parse(text)
  index(id, row, 1)
  tally(row[${at.type}], ${enqueueCounted.figure}, 1)
  enter(all, seq, id)
  log(id, row[${at.type}], '[' .. seq .. (due == '' and READY or LATER))
  rows[2 * i - 1] = id
  rows[2 * i] = text
  if ARGV[first + 3] ~= '' then
    inputs[#inputs + 1] = id
    inputs[#inputs + 1] = ARGV[first + 3]
  end
  if ARGV[first + 4] ~= '' then
    metas[#metas + 1] = id
    metas[#metas + 1] = ARGV[first + 4]
  end
end
each('HSET', JOBS, rows)
each('HSET', P .. 'data:input', inputs)
each('HSET', P .. 'data:meta', metas)
each('HSET', P .. 'holders', holders)
writeLog(base + #ids)
writeActivity(now)
return { stamp(), finish(), int(base), now }
`
