/** Blocks of ids in the order of numbers: see ../blocks.ts. */
import { finished } from '../grown.ts'
import { at, type LuaScript } from './lua.ts'

/** Rows that one call looks at of each index, to find those that were asked for, and of all of them. */
const lookMax = { each: 600, all: 1_500 } as const
/** Ids of an entry. */
export const blockMax = 100

export const blocksLua = `
-- @param entered what is told of them: when they have ended
-- @param from where they begin in a list of ids, which keeps what it has there until the end of the call
local function addBlock(key, first, entered, ids, from, to)
  local list = blocks[key]
  if not list then
    list = {}
    blocks[key] = list
  end
  local last = list[#list]
  if from == to and last and last.isOpen and last.entered == entered and last.first + last.to == first then
    last.to = last.to + 1
    last.ids[last.to] = ids[from]
  elseif from == to then
    -- Others may follow in a list of its own.
    list[#list + 1] = { first = first, entered = entered, ids = { ids[from] }, from = 1, to = 1, isOpen = true }
  else
    list[#list + 1] = { first = first, entered = entered, ids = ids, from = from, to = to, isOpen = false }
  end
end

local writeBlocks
do
-- Entries have ${blockMax} ids at most, and an even number of values.
local function writeBlock(key, block)
  local ids, number = block.ids, block.first
  for from = block.from, block.to, ${blockMax} do
    local to = math.min(from + ${blockMax - 1}, block.to)
    local first, last = int(number), int(number + to - from) .. '-0'
    number = number + to - from + 1
    if (to - from) % 2 == 1 then
      call('XADD', key, last, block.entered, first, unpack(ids, from, to))
    else
      local even = { unpack(ids, from, to) }
      even[#even + 1] = ''
      call('XADD', key, last, block.entered, first, unpack(even))
    end
  end
end

function writeBlocks()
  for key, list in pairs(blocks) do
    if #list > 1 then table.sort(list, function(a, b) return a.first < b.first end) end
    for _, block in ipairs(list) do writeBlock(key, block) end
  end
  blocks = {}
end
end
-- The number of the end of a row that has grown to its end.
local function endOf(text)
  if text:byte() ~= 43 then return nil end
  local base, place = text:match('%zD(%d+)%+(%d+),%d+\\1$')
  return base and base + place
end

-- Is a row that of a job that the transition of this number has ended?
local function isEndedBy(text, number)
  if not text then return false end
  local own = endOf(text)
  if own then return own == number end
  local row = parse(text)
  return row and INDEX[row[${at.state}]] == 'ended' and tonumber(row[${at.last}]) == number
end

local tidyAll
do
-- Is none of these jobs there? Mostly the first tells it: jobs go in about the order in which they came.
local function areGone(ids)
  if call('HEXISTS', JOBS, ids[1]) == 1 then return false end
  for from = 2, #ids, 20 do
    for _, text in ipairs(values(JOBS, { unpack(ids, from, math.min(from + 19, #ids)) })) do if text then return false end end
  end
  return true
end

-- A step of removing blocks of the index of all jobs of which none is there any more. It goes on where the last one
-- has stopped.
function tidyAll(most)
  local key, from, looked = P .. 'all', call('GET', P .. 'tidied') or '-', 0
  while looked < most do
    local block = call('XRANGE', key, from, '+', 'COUNT', 1)[1]
    if not block then
      from = '-'
      break
    end
    local n = #block[2]
    if block[2][n] == '' then n = n - 1 end
    if areGone({ unpack(block[2], 3, n) }) then call('XDEL', key, block[1]) end
    looked, from = looked + n, '(' .. block[1]
  end
  if call('XLEN', key) == 0 or call('EXISTS', JOBS) == 0 then
    call('UNLINK', key, P .. 'tidied')
  else
    call('SET', P .. 'tidied', from)
  end
end
end
`

/**
 * Finds the first ended jobs of states and types. Answers for each whether there may be more than were found, though
 * fewer than asked for; and jobs whose ends have numbers without a gap: when they have ended, the first number, and
 * their ids.
 */
export const endedScript: LuaScript = {
  definitions: `
local lookedAll
local function firstEnded(key, limit)
  local found, looked, from, amount = {}, 0, '-', 0
  -- Mostly the first ones are there: no more of them are read than are asked for.
  local step = math.min(limit, 20)
  while true do
    if lookedAll >= ${lookMax.all} then return { 1, found } end
    local block = call('XRANGE', key, from, '+', 'COUNT', 1)[1]
    if not block then return { 0, found } end
    local entered, first, n, run, last = block[2][1], tonumber(block[2][2]), #block[2], nil, nil
    if block[2][n] == '' then n = n - 1 end
    local ids = { unpack(block[2], 3, n) }
    local part = 1
    while part <= #ids do
      local some = { unpack(ids, part, math.min(part + step - 1, #ids)) }
      for i, text in ipairs(values(JOBS, some)) do
        local number = first + part + i - 2
        if isEndedBy(text, number) then
          if last ~= number - 1 then
            run = { entered, int(number) }
            found[#found + 1] = run
          end
          run[#run + 1], last, amount = some[i], number, amount + 1
          if amount == limit then return { 0, found } end
        end
      end
      looked, lookedAll, part = looked + #some, lookedAll + #some, part + #some
      step = math.min(2 * step, 20)
      if looked >= ${lookMax.each} then return { 1, found } end
    end
    if not run then call('XDEL', key, block[1]) end
    from = '(' .. block[1]
  end
end
`,
  call: `
local answer = {}
lookedAll = 0
for i = 4, #ARGV, 3 do answer[#answer + 1] = firstEnded(P .. 'ended:' .. ARGV[i] .. ':' .. ARGV[i + 1], tonumber(ARGV[i + 2])) end
`,
  answer: 'answer',
}

/** The state that a row which has grown to its end is in. */
export const grownState = finished
