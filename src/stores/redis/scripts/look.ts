/**
 * Looks through the rows of jobs for those of certain states that have certain texts in them. Rows are not parsed: the
 * process does that with those that are found. Answers how many rows were looked at, the number up to which (empty at
 * the end), and of each job found its id and number.
 */
import { finished, started, waiting } from '../grown.ts'
import { headFields, type HeadField } from '../row-text.ts'
import type { LuaScript } from './lua.ts'

/** Rows of one call, and their bytes: a script holds up every other client. It ends behind a whole block. */
const rowsMax = 1_000
const bytesMax = 1_000_000
/** Blocks of one call that are passed over without reading a row. */
const blocksMax = 1_000

/** A pattern that finds some of the first fields of a row. */
const patternOf = (names: readonly HeadField[]): string =>
  `^${headFields
    .slice(0, headFields.indexOf(names.at(-1) as HeadField) + 1)
    .map((name) => (names.includes(name) ? '(%Z*)%z' : '%Z*%z'))
    .join('')}`

const definitions = `
-- Is a row of one of these states, if there are any, and has it one text of each of these lists? What does not begin as
-- a row is found, too: the process sets it aside.
local function stateOf(text)
  if text:byte() ~= 43 then return text:match('${patternOf(['state'])}') end
  if text:byte(-1) ~= 1 then return '${waiting}' end
  return endOf(text) and '${finished}' or '${started}'
end
local function isWanted(text, wanted)
  local first = text:byte() or 0
  if first ~= 43 and (first < 48 or first > 57) then return true end
  for _, list in ipairs(wanted.texts) do
    local found = false
    for _, each in ipairs(list) do found = found or text:find(each, 1, true) end
    if not found then return false end
  end
  if not wanted.states then return true end
  local state = stateOf(text)
  return not state or wanted.states[state]
end

local function idsOf(block)
  local n = #block[2]
  if block[2][n] == '' then n = n - 1 end
  return { unpack(block[2], 3, n) }
end
`

export const lookScript: LuaScript = {
  definitions: `
${definitions}
-- In the order of the enqueues.
-- @param after the number before the first one; '' at the beginning
-- @param above no number up to it is looked at
-- @param upto no number above it is looked at
-- @param most so many are found; more in the block of the last one
local function lookFrom(after, newest, above, upto, most, wanted)
  local key, found, looked, bytes = P .. 'all', {}, 0, 0
  local from, past = newest and '+' or int(above + 1) .. '-0', tonumber(after)
  -- Of the newest: the block that the position is in comes first, or the one behind it.
  local block = newest and past and call('XRANGE', key, after .. '-0', '+', 'COUNT', 1)[1]
  if block then from = '(' .. block[1]
  elseif past and newest then from = '+'
  elseif past then from = int(math.max(past, above) + 1) .. '-0' end
  while true do
    if not block then block = call(newest and 'XREVRANGE' or 'XRANGE', key, from, newest and '-' or '+', 'COUNT', 1)[1] end
    if not block then return { looked, '', found } end
    local first, ids = tonumber(block[2][2]), idsOf(block)
    local rows, count = values(JOBS, ids), #ids
    for i = newest and count or 1, newest and 1 or count, newest and -1 or 1 do
      local number = first + i - 1
      bytes = bytes + #(rows[i] or '')
      local isPast = not past or (newest and number < past) or (not newest and number > past)
      if isPast and number > above and number <= upto and rows[i] and isWanted(rows[i], wanted) then
        found[#found + 1] = ids[i]
        found[#found + 1] = int(number)
      end
    end
    looked = looked + count
    local last = newest and first or first + count - 1
    if newest and last <= above + 1 or not newest and last >= upto then return { looked, '', found } end
    if looked >= ${rowsMax} or bytes >= ${bytesMax} or #found >= 2 * most then return { looked, int(last), found } end
    from, block = '(' .. block[1], nil
  end
end
`,
  call: '',
  answer: `lookFrom(ARGV[4], ARGV[5] ~= '', tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), cjson.decode(ARGV[9]))`,
}

export const lookEndedScript: LuaScript = {
  definitions: `
${definitions}
-- The number of the enqueue of a job that is in a state: the process looks closer. A job may be found again where it
-- has ended before.
local function numberIn(text, state)
  if text:byte() == 43 and text:byte(-1) == 1 then
    if state ~= '${finished}' or not endOf(text) then return nil end
  elseif not text:find('\\0' .. state .. '\\0', 1, true) then
    return nil
  end
  return text:match('${patternOf(['seq'])}')
end

-- Of a state and type, in the order of their ends.
-- @param from the number of the end before the first one
-- @param since, before when they have ended: blocks of jobs that have not are passed over
local function lookEnded(state, type, from, since, before, wanted)
  local key, found, looked, bytes, blocks = P .. 'ended:' .. state .. ':' .. type, {}, 0, 0, 0
  local upto = from
  while looked < ${rowsMax} and bytes < ${bytesMax} and blocks < ${blocksMax} do
    local block = call('XRANGE', key, int(upto + 1) .. '-0', '+', 'COUNT', 1)[1]
    if not block then return { looked, '', found } end
    upto, blocks = tonumber(block[1]:match('^%d+')), blocks + 1
    local endedAt = tonumber(block[2][1])
    if not endedAt or endedAt >= since and endedAt < before then
      local ids = idsOf(block)
      for i, text in ipairs(values(JOBS, ids)) do
        bytes = bytes + #(text or '')
        local seq = text and isWanted(text, wanted) and numberIn(text, state)
        if seq then
          found[#found + 1] = ids[i]
          found[#found + 1] = seq
        end
      end
      looked = looked + #ids
    end
  end
  return { looked, int(upto), found }
end
`,
  call: '',
  answer: `lookEnded(ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), cjson.decode(ARGV[9]))`,
}
