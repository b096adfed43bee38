/**
 * Looks through the rows of jobs, in the order of their enqueue from a position on, for those that have certain texts
 * in them. Rows are not parsed: the process does that with those that are found. Answers how many rows were looked at,
 * the number up to which (empty at the end), and of each job found its id and number.
 */
import type { LuaScript } from './lua.ts'

/** Rows of one call, and their bytes: a script holds up every other client. It ends behind a whole block. */
const rowsMax = 1_000
const bytesMax = 1_000_000

export const lookScript: LuaScript = {
  definitions: `
-- Has a row one text of each of the lists? What does not begin as a row is found, too: the process sets it aside.
local function hasAll(row, lists)
  local first = row:byte() or 0
  if first ~= 43 and (first < 48 or first > 57) then return true end
  for _, list in ipairs(lists) do
    local found = false
    for _, text in ipairs(list) do found = found or row:find(text, 1, true) end
    if not found then return false end
  end
  return true
end

-- @param after the number before the first one; '' at the beginning
-- @param upto no number above it is looked at
-- @param most so many are found; more in the block of the last one
local function lookFrom(after, newest, upto, lists, most)
  local key, found, looked, bytes = P .. 'all', {}, 0, 0
  local from, past = newest and '+' or '-', tonumber(after)
  -- Of the newest: the block that the position is in comes first, or the one behind it.
  local block = newest and past and call('XRANGE', key, after .. '-0', '+', 'COUNT', 1)[1]
  if block then from = '(' .. block[1]
  elseif past and newest then from = '+'
  elseif past then from = int(past + 1) .. '-0' end
  while true do
    if not block then block = call(newest and 'XREVRANGE' or 'XRANGE', key, from, newest and '-' or '+', 'COUNT', 1)[1] end
    if not block then return { looked, '', found } end
    local first, n = tonumber(block[2][2]), #block[2]
    if block[2][n] == '' then n = n - 1 end
    local ids = { unpack(block[2], 3, n) }
    local rows, count = values(JOBS, ids), #ids
    for i = newest and count or 1, newest and 1 or count, newest and -1 or 1 do
      local number = first + i - 1
      bytes = bytes + #(rows[i] or '')
      local isPast = not past or (newest and number < past) or (not newest and number > past)
      if isPast and number <= upto and rows[i] and hasAll(rows[i], lists) then
        found[#found + 1] = ids[i]
        found[#found + 1] = int(number)
      end
    end
    looked = looked + count
    local last = newest and first or first + count - 1
    if not newest and last >= upto then return { looked, '', found } end
    if looked >= ${rowsMax} or bytes >= ${bytesMax} or #found >= 2 * most then return { looked, int(last), found } end
    from, block = '(' .. block[1], nil
  end
end
`,
  call: '',
  answer: `lookFrom(ARGV[4], ARGV[5] ~= '', tonumber(ARGV[6]), cjson.decode(ARGV[7]), tonumber(ARGV[8]))`,
}
