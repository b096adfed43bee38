/**
 * Carries out a plan (see `plan.ts`), or nothing of it if something is not as it was read.
 * Answers the time, the wake-ups and the number before the first new one; or the time, and the names of what has
 * changed.
 */
import { caps } from '../../../core/caps.ts'
import { heatHoursKept } from '../../../core/heat.ts'
import { pending } from '../../remote/transaction.ts'
import { figureAt } from '../figures.ts'
import { flagLetters } from '../row-text.ts'
import { at, fieldsOfLetters, tail, type LuaScript } from './lua.ts'
import { restLua } from './rest.ts'
import { termsLua } from './terms.ts'

/** So far the time of a unit may be ahead of the server's, ms. */
const aheadMsMax = 5

const definitions = `
${restLua}${termsLua}
local base
local PENDING = ${pending}

-- The row of a job; nil if it is not there.
local function readRow(id)
  local text = call('HGET', JOBS, id)
  return text and parse(text) or nil
end

local function revision(row) return row and row[${at.rev}] .. ':' .. row[${at.seq}] or '' end

-- The numbers that were not given when the plan was made.
local function given(digits) return int(tonumber(digits) - PENDING + base) end
local NUMBER = '9%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d'
local function number(text) if #text == 16 and text:match('^' .. NUMBER .. '$') then return given(text) end return text end
local function numbers(text, most)
  return (text:gsub('"seq":(' .. NUMBER .. ')', function(digits) return '"seq":' .. given(digits) end, most))
end
local NUMBERED = {
  [${at.seq}] = number, [${at.place}] = number, [${at.last}] = number, [${at.checkpointSeq}] = number,
  [${at.settled}] = numbers, [${at.unsupported}] = numbers,
}

local function writeBeside(id, row)
  if row.data then for i = 1, #row.data, 2 do call('HSET', P .. 'data:' .. row.data[i], id, row.data[i + 1]) end end
  for _, field in ipairs(row.dataDropped or {}) do call('HDEL', P .. 'data:' .. field, id) end
  if row.inboxDropped then call('LPOP', P .. 'inbox:' .. id, row.inboxDropped) end
  for _, place in ipairs(row.inboxRemoved or {}) do call('LSET', P .. 'inbox:' .. id, int(place), '') end
  if row.inboxRemoved then call('LREM', P .. 'inbox:' .. id, 0, '') end
  for _, message in ipairs(row.messages or {}) do call('RPUSH', P .. 'inbox:' .. id, message) end
  if row.forgetsCheckpoints then call('DEL', P .. 'checkpoints:' .. id) end
  if row.checkpoints then
    for _, text in ipairs(row.checkpoints) do call('RPUSH', P .. 'checkpoints:' .. id, numbers(text, 1)) end
    call('LTRIM', P .. 'checkpoints:' .. id, -${caps.checkpoints}, -1)
  end
  if row.forgetsSteps then call('DEL', P .. 'steps:' .. id) end
  for _, name in ipairs(row.stepsDropped or {}) do call('HDEL', P .. 'steps:' .. id, name) end
  local steps = row.steps or {}
  for i = 1, #steps, 2 do call('HSET', P .. 'steps:' .. id, steps[i], steps[i + 1]) end
end

-- @param before nil: the job is new
-- @param after nil: it is gone
local function reindex(id, before, after)
  -- It stands where it stood.
  local isSame = before and after and before[${at.last}] == after[${at.last}] and before[${at.state}] == after[${at.state}]
  if isSame and INDEX[after[${at.state}]] == 'ended' then return end
  local isPlain = isSame and INDEX[after[${at.state}]] == 'queue' and before[${at.concurrencyKey}] .. after[${at.concurrencyKey}] == ''
  if isPlain and placeOf(before) == placeOf(after) and before[${at.priority}] == after[${at.priority}] then return end
  if before then index(id, before, -1) end
  if after then index(id, after, 1) end
  if not before or INDEX[before[${at.state}]] ~= 'lease' then return end
  if after and INDEX[after[${at.state}]] == 'lease' then
    if before[${at.state}] ~= after[${at.state}] then cancelled[#cancelled + 1] = id end
  else
    left[before[${at.type}]] = true
  end
end

-- Removes what is kept of a job beside its row.
local function removeRest(id, row)
  local has = row[${at.has}]
  for letter, field in pairs(${fieldsOfLetters}) do if has:find(letter, 1, true) then call('HDEL', P .. 'data:' .. field, id) end end
  if has:find('${flagLetters.steps}', 1, true) then call('DEL', P .. 'steps:' .. id) end
  if has:find('${flagLetters.machine}', 1, true) then call('DEL', P .. 'checkpoints:' .. id, P .. 'inbox:' .. id) end
end

-- The names of what is not as a plan has read it; and the rows that the plan writes, as they are now.
local function staleOf(plan)
  local stale = {}
  -- What was read may have been written anew since, with the same revisions.
  if plan.epoch and plan.epoch ~= epochNow() then return { 'epoch' } end
  local read = plan.read or {}
  for i = 1, #read, 2 do
    if revision(readRow(read[i])) ~= read[i + 1] then stale[#stale + 1] = 'row ' .. read[i] end
  end
  local rows = plan.rows or {}
  local ids, before = {}, {}
  for i, row in ipairs(rows) do ids[i] = row.id end
  for i, text in ipairs(values(JOBS, ids)) do
    before[i] = text and parse(text) or nil
    if revision(before[i]) ~= rows[i].rev then stale[#stale + 1] = 'row ' .. ids[i] end
  end
  local cells = plan.cells or {}
  for _, cell in ipairs(cells) do
    if call('HGET', cell[1], cell[2]) ~= cell[3] then stale[#stale + 1] = cell[1]:sub(#P + 1) .. ' ' .. cell[2] end
  end
  if plan.room and backlog() > plan.room then stale[#stale + 1] = 'backlog' end
  for _, limit in ipairs(plan.queueRooms or {}) do
    if backlog(limit[1]) > limit[2] then stale[#stale + 1] = 'backlog' end
  end
  for _, needed in ipairs(plan.slots or {}) do
    local room = handOverRoom(needed[1])
    if room < needed[2] then stale[#stale + 1] = 'slots ' .. int(room) .. ' ' .. needed[1] end
  end
  -- What was judged by a time that is yet to come: a process estimates the server's time.
  if plan.now and tonumber(plan.now) > nowMs + ${aheadMsMax} then stale[#stale + 1] = 'time' end
  return stale, before
end

-- Adds to the heat of charts. It is kept a day longer than it is shown.
local function addHeat(counted)
  local hour = math.floor(nowMs / 3600000)
  local keys = {}
  for _, each in ipairs(counted) do
    local key = P .. 'heat:' .. int(hour * 3600000) .. ':' .. each[1]
    call('HINCRBY', key, 'n' .. each[2], int(each[3]))
    call('HSET', key, 'j' .. each[2], each[4])
    keys[key] = true
  end
  for key in pairs(keys) do call('EXPIREAT', key, int((hour + ${heatHoursKept}) * 3600)) end
end

-- @param before the rows that the plan writes
local function carryOut(plan, before)
  local rows, cells = plan.rows or {}, plan.cells or {}
  local entries = plan.log or {}
  base = seqNow + 1
  advance(#entries)

  -- What becomes part of the histories, by job.
  local histories = {}
  for i, entry in ipairs(entries) do
    local text = entry[3]:gsub('^%[' .. NUMBER, '[' .. int(base + i - 1))
    log(entry[1], entry[2], text)
    if entry[4] == 1 then
      local list = histories[entry[1]] or {}
      list[#list + 1] = text
      histories[entry[1]] = list
    end
  end

  -- Before the rows: a job that dies is counted in the group of its failure.
  for _, failure in ipairs(plan.failures or {}) do addFailure(failure, plan.now, number(failure.seq)) end

  local written, gone, leaves = {}, {}, {}
  for i, row in ipairs(rows) do
    if before[i] and (row.gone or row.terms) then
      leaves[#leaves + 1] = row.id
      leaves[#leaves + 1] = before[i]
    end
  end
  if #leaves > 0 then leaveTerms(leaves) end
  for i, row in ipairs(rows) do
    local id = row.id
    if row.gone then
      reindex(id, before[i], nil)
      removeRest(id, before[i])
      gone[#gone + 1] = id
    else
      local after = row.head
      after[${tail}] = row.tail
      for field, fix in pairs(NUMBERED) do after[field] = fix(after[field]) end
      -- The process does not know when the lease of a claim ends.
      if after[${at.wakeAt}] == '' and INDEX[after[${at.state}]] == 'lease' then after[${at.wakeAt}] = before[i][${at.wakeAt}] end
      for _, text in ipairs(histories[id] or {}) do remember(after, text) end
      reindex(id, before[i], after)
      if not before[i] then addBlock(P .. 'all', tonumber(after[${at.seq}]), '', { id }, 1, 1) end
      for _, key in ipairs(row.enter or {}) do enter(key, after[${at.seq}], id) end
      written[#written + 1] = id
      written[#written + 1] = rowText(after)
      writeBeside(id, row)
      if before[i] and row.terms then enterTerms(id, after) end
    end
    for _, key in ipairs(row.leave or {}) do leave(key, id) end
  end
  writeRows(written)
  each('HDEL', JOBS, gone)
  if #gone > 0 then tidyAll(2 * #gone + 10) end
  for _, cell in ipairs(cells) do
    if cell[4] == false then call('HDEL', cell[1], cell[2])
    elseif cell[4] ~= 0 then call('HSET', cell[1], cell[2], cell[4]) end
    if cell[1] == P .. 'paused' and cell[4] ~= 0 then setFigure(cell[2], ${figureAt.paused}, cell[4] == '1' and 1 or 0) end
  end
  for _, key in ipairs(plan.freed or {}) do
    if call('HGET', key[1], key[2]) == key[3] then call('HDEL', key[1], key[2]) end
  end
  for _, key in ipairs(plan.taken or {}) do call('HSET', key[1], key[2], key[3]) end
  for _, tick in ipairs(plan.ticks or {}) do
    if tick[2] then call('ZADD', P .. 'ticks', tick[2], tick[1]) else call('ZREM', P .. 'ticks', tick[1]) end
  end
  if plan.now then beginActivity(tonumber(plan.now)) end
  for _, figure in ipairs(plan.activity or {}) do tally(figure[1], figure[2], figure[3]) end
  for _, count in ipairs(plan.machines or {}) do
    if call('HINCRBY', count[1], count[2], int(count[3])) == 0 then call('HDEL', count[1], count[2]) end
  end
  if plan.heat then addHeat(plan.heat) end
  if plan.full or plan.fullQueues or plan.fullSlots then setFigure('', ${figureAt.waits}, 1) end
  if plan.full then call('SET', P .. 'full', '1') end
  for _, type in ipairs(plan.fullQueues or {}) do call('HSET', P .. 'full-queues', type, '1') end
  looksForSlots = looksForSlots or plan.fullSlots ~= nil or plan.hints ~= nil
  for _, full in ipairs(plan.fullSlots or {}) do call('HSET', P .. 'full-slots', full[1], int(full[2])) end
  for _, hint in ipairs(plan.hints or {}) do
    if hint.kind == 'ready' then ready[hint.type] = true else hints[#hints + 1] = hint end
  end
end
`

const call = `
local plan = cjson.decode(ARGV[4])
local stale, before = staleOf(plan)
if #stale > 0 then return { stamp(), 'stale', stale } end
carryOut(plan, before)
`

/** A commit that stores no new job is carried out also while the memory of the server is full. */
export const commitScript: LuaScript = { definitions, call, answer: 'int(base)' }
export const storingCommitScript: LuaScript = { ...commitScript, stores: true }

/**
 * Carries out plans, each on the condition that nothing of it has changed, whatever becomes of the others. Answers for
 * each the number before its first new one; or an empty text, if something has changed. `head` must hold for all of
 * them: else nothing is written. `progress` is a record that counts what became of the jobs, and names those that are
 * left.
 */
export const commitEachScript: LuaScript = {
  definitions,
  call: `
local request = cjson.decode(ARGV[4])
local head, progress = request.head, request.progress
local headStale, headBefore = staleOf(head)
if #headStale > 0 then return { stamp(), 'stale', headStale } end
carryOut(head, headBefore)
local bases, left, counts = {}, {}, progress and progress.counts
for i, plan in ipairs(request.plans or {}) do
  local stale, before = staleOf(plan)
  if #stale > 0 then
    bases[i] = ''
    left[#left + 1] = plan.job
  else
    carryOut(plan, before)
    bases[i] = int(base)
    for _, outcome in ipairs(progress and plan.outcomes or {}) do counts[outcome] = (counts[outcome] or 0) + 1 end
  end
end
if progress then
  local lists = '{"counts":' .. cjson.encode(counts) .. (#left > 0 and ',"left":' .. cjson.encode(left) or '')
  call('HSET', progress.key, progress.field, lists .. ',' .. progress.rest)
end
`,
  answer: 'bases',
}
