/**
 * Stores jobs of which each is new, has a free key, and finds room; nothing if any does not: then the core decides.
 * Answers the time, the wake-ups, the number before the first transition and the time of the enqueue; or the time and
 * `generic`.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { bornReady, bornTimed } from '../../../core/insert.ts'
import { figureAt } from '../figures.ts'
import { grownMark } from '../grown.ts'
import { dataLetters, flagLetters } from '../row-text.ts'
import { at, type LuaScript } from './lua.ts'

/** Between inputs: no JSON, and no text of a row, has it. */
export const inputEnd = '\x01'
/** The pattern of an input with its end. */
export const eachInput = String.raw`([^\1]*)\1`

export const insertScript: LuaScript = {
  stores: true,
  typed: true,
  definitions: `
-- The last three digits of numbers.
local DIGITS = {}
for i = 0, 999 do DIGITS[i] = (i < 10 and '00' or i < 100 and '0' or '') .. i end
-- A function that gives the numbers behind one as texts: to format each would cost more than all else that a row takes.
local function numberFrom(base)
  local thousands, text
  return function(i)
    local number = base + i
    if number < 1000 then return TEXTS[number] end
    local rest = number % 1000
    if (number - rest) / 1000 ~= thousands then
      thousands = (number - rest) / 1000
      text = int(thousands)
    end
    return text .. DIGITS[rest]
  end
end

local terms
local function isNone(list) for _, value in ipairs(list) do if value then return false end end return true end
local function hasRoom()
  if terms.room and backlog() > terms.room then return false end
  for _, limit in ipairs(terms.queueRooms or {}) do if backlog(limit[1]) > limit[2] then return false end end
  return true
end

-- When a job is due, if that is later; as an amount of time it begins with a sign.
local function timeOf(text)
  if text == '' then return nil end
  local due = math.ceil(text:sub(1, 1) == '+' and nowMs + tonumber(text:sub(2)) or tonumber(text))
  return due > nowMs and int(due) or nil
end

-- The list of members and scores of a queue in which jobs without a key stand; nil if the row is of a job with one, or
-- keys share the claims. Rows of such jobs grow, unless something of them is kept apart.
local function plainQueue(row)
  local type, priority, has = row[${at.type}], row[${at.priority}], row[${at.has}]
  local share = shareOf(type)
  if row[${at.concurrencyKey}] ~= '' or share.on or share.clock or figuresOf(type)[${figureAt.limited}] == 1 then return nil end
  local grows = has == '' or has == '${flagLetters.pinned}'
  return { key = P .. 'queue:' .. type, score = negative(priority ~= '' and priority or '0'), isLast = priority == '', grows = grows, count = 0 }
end

`,
  call: `
terms = cjson.decode(ARGV[5])
-- Of the jobs: ids; inputs, as they stand in rows unless they are kept apart; the indexes of their rows among those
-- that jobs have in common, with how many follow each other; and of those that have more the place, when it is due, the
-- name of its unique key, and meta.
local common, base = tonumber(ARGV[6]), seqNow
local ids, ownInputs = split(ARGV[7 + common]), split(ARGV[8 + common], '${eachInput}')
local dueOf, names, holders, metas, given = {}, {}, {}, {}, #ids
for i = 10 + common, #ARGV, 4 do
  local place, name, meta = tonumber(ARGV[i]), ARGV[i + 2], ARGV[i + 3]
  dueOf[place] = timeOf(ARGV[i + 1])
  if name ~= '' then
    names[#names + 1] = name
    holders[#holders + 1] = name
    holders[#holders + 1] = ids[place]
  end
  if meta ~= '' then
    metas[#metas + 1] = ids[place]
    metas[#metas + 1] = meta
  end
end
if not (isNone(values(P .. 'holders', names)) and isNone(values(P .. 'predecessors', names)) and hasRoom() and isNone(values(JOBS, ids))) then
  return { stamp(), 'generic' }
end

advance(given)
local READY = ',' .. now .. ',"ENQUEUE",null,"${bornReady}",0]'
local LATER = ',' .. now .. ',"ENQUEUE",null,"${bornTimed}",0]'
-- What jobs have in common: the row from its attempt on, the parsed row, in which each has what is its own in turn, how
-- many there are, and the list of the queue of those that differ in nothing but their number and id.
local texts, parsed, amounts, queued, apart = {}, {}, {}, {}, {}
for i = 1, common do
  texts[i] = '\\0' .. ARGV[6 + i]
  parsed[i] = parse('1\\0\\0\\0\\0\\0\\0${bornReady}' .. texts[i])
  amounts[i] = 0
  queued[i] = plainQueue(parsed[i])
  apart[i] = parsed[i][${at.has}]:find('${dataLetters.input}', 1, true)
end
-- Entries of lists, by type.
local lists = {}
local rows, inputs = {}, {}
local AT, NOW = '\\0' .. now .. '\\0\\0\\0', '\\0' .. now .. '\\0\\0\\0\\0${bornReady}'
local GROWS = '${grownMark}' .. pad(now) .. '1\\0'
local number, i = numberFrom(base), 0
for whichText, times in ARGV[9 + common]:gmatch('(%d+)%*?(%d*)') do
  -- Up to which job the log has been told.
  local which, first, told = tonumber(whichText), i + 1, i
  local row, queue, text, last = parsed[which], queued[which], texts[which], i + (tonumber(times) or 1)
  local type, list = row[${at.type}], nil
  local before, behind = '1\\0', NOW .. text
  if queue and queue.grows then before, behind = GROWS, '\\0\\0\\0\\0\\0${bornReady}' .. text end
  if queue and queue.isLast then
    list = lists[type] or {}
    lists[type] = list
  end
  while i < last do
    i = i + 1
    local seq, id, due, input = number(i), ids[i], dueOf[i], ownInputs[i]
    rows[2 * i - 1] = id
    if apart[which] then
      inputs[#inputs + 1] = id
      inputs[#inputs + 1] = input
      input = ''
    end
    if queue and not due then
      queue.count = queue.count + 1
      if list then
        list[#list + 1] = seq .. ' ' .. id
      else
        local n = #queue
        queue[n + 1], queue[n + 2] = queue.score, pad(seq) .. id
      end
      rows[2 * i] = before .. seq .. behind .. input
    else
      local wakeAt, state = due or '', due and '${bornTimed}' or '${bornReady}'
      row[${at.seq}], row[${at.wakeAt}], row[${at.state}] = seq, wakeAt, state
      index(id, row, 1)
      rows[2 * i] = '1\\0' .. seq .. AT .. wakeAt .. '\\0' .. state .. text .. input
      if due then
        if told < i - 1 then logAll(ids, told + 1, i - 1, type, base + told + 1, READY) end
        logAll(ids, i, i, type, base + i, LATER)
        told = i
      end
    end
  end
  amounts[which] = amounts[which] + last - first + 1
  if told < last then logAll(ids, told + 1, last, type, base + told + 1, READY) end
end
addBlock(P .. 'all', base + 1, '', ids, 1, given)
for i, amount in ipairs(amounts) do
  local type, queue = parsed[i][${at.type}], queued[i]
  tally(type, ${enqueueCounted.figure}, amount)
  if queue and queue.count > 0 then
    ready[type] = true
    count('${bornReady}', type, queue.count)
    if not queue.isLast then
      each('ZADD', queue.key, queue)
      setFigure(type, ${figureAt.sorted}, 1)
    end
  end
end
for type, list in pairs(lists) do pushAll(type, list) end
each('HSET', JOBS, rows)
each('HSET', P .. 'data:input', inputs)
each('HSET', P .. 'data:meta', metas)
each('HSET', P .. 'holders', holders)
`,
  answer: 'int(base), now',
}
