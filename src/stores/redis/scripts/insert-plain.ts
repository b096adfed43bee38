/**
 * Stores plain jobs: due at once, behind all others, without unique keys, of types without limits. It writes what
 * `insert` writes, without the tables that all other jobs need.
 * Answers a text: the server's time, the number of the last transition, the time of the enqueue, and how many jobs of
 * each type are queued. Only the first two if it wrote nothing, because `insert` has to look closer.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { jobStates } from '../../../core/lifecycle.ts'
import { bornReady } from '../../../core/insert.ts'
import { figureAt } from '../figures.ts'
import { grownMark, timeChars } from '../grown.ts'
import { blockMax } from './blocks.ts'
import { bytesAt, numberAt, numbers, numbersFormat } from './figures.ts'
import { eachInput } from './insert.ts'
import { bareLog, readFigures, readTime, seqName, type LuaScript } from './lua.ts'

/** How many jobs a call may have: the caller sees to it. One alone has a script of its own. */
export const plainInserts = { min: 2, max: 500 } as const

const queuedAt = jobStates.indexOf(bornReady) + 1
const queued = numberAt(queuedAt)
const enqueued = numberAt(figureAt.activity + enqueueCounted.figure)
const [listed, told] = [numberAt(figureAt.listed), numberAt(figureAt.told)]
const [queuedFrom, queuedTo] = bytesAt(queuedAt)

export const insertPlainScript: LuaScript = {
  stores: true,
  bare: true,
  definitions: `
local FIGURES = ${numbersFormat}
local ZERO = ('\\0'):rep(8)
`,
  call: `
local call, P, sub, format = redis.call, KEYS[1], string.sub, string.format
${readTime}
${readFigures}
local all = figures[2]
local before = clock .. ' ' .. format('%d', base)
if not all or sub(all, ${bytesAt(figureAt.waits).join(', ')}) ~= ZERO then return before end
local minute = struct.pack('>d', nowMs - nowMs % 60000)
for i = 3, n do
  local text = figures[i]
  if not text or sub(text, ${bytesAt(figureAt.minute).join(', ')}) ~= minute or sub(text, ${bytesAt(figureAt.limited).join(', ')}) ~= ZERO then return before end
end

local ids, given = {}, 0
for id in ARGV[5]:gmatch('%Z+') do
  given = given + 1
  ids[given] = id
end
local found = call('HMGET', P .. 'jobs', unpack(ids))
for i = 1, given do if found[i] then return before end end

-- Of each run of jobs that have a row in common: how many, and their type.
local amounts, kinds = {}, {}
local rows, lists, i = {}, {}, 0
local head = format('${grownMark}%0${timeChars}d', nowMs) .. '1\\0'
local inputs = ARGV[6]:gmatch('${eachInput}')
for which, times in ARGV[7]:gmatch('(%d+)%*?(%d*)') do
  local place, text = 2 + ARGV[6 + 2 * which], '\\0\\0\\0\\0\\0${bornReady}\\0' .. ARGV[7 + 2 * which]
  local list, type = lists[place] or {}, types[place]
  lists[place] = list
  local l, amount = #list, tonumber(times) or 1
  amounts[#amounts + 1], kinds[#kinds + 1] = amount, type
  for _ = 1, amount do
    i, l = i + 1, l + 1
    local seq, id = format('%d', base + i), ids[i]
    rows[2 * i - 1], rows[2 * i] = id, head .. seq .. text .. inputs()
    list[l] = seq .. ' ' .. id
  end
end

-- From here on it writes.
call('HSET', P .. 'jobs', unpack(rows))
local last = format('%d', base + given)
local written = { ${seqName}, last, '', '' }
local answer, news = clock .. ' ' .. last .. ' ' .. now, nil
for i = 3, n do
  local type, list = types[i], lists[i]
  local amount, ${numbers} = #list, struct.unpack(FIGURES, figures[i])
  call('RPUSH', P .. 'list:' .. type, unpack(list))
  if ${told} == 0 then news = (news and news .. ',' or '') .. cjson.encode({ kind = 'ready', type = type }) end
  ${queued}, ${enqueued}, ${listed}, ${told} = ${queued} + amount, ${enqueued} + amount, ${listed} + amount, 1
  answer = answer .. ' ' .. ${queued}
  written[2 * i - 1], written[2 * i] = type, struct.pack(FIGURES, ${numbers})
end
local allQueued = struct.pack('>d', struct.unpack('>d', all, ${queuedFrom}) + given)
written[4] = sub(all, 1, ${queuedFrom - 1}) .. allQueued .. sub(all, ${queuedTo + 1})
call('HSET', P .. 'figures', unpack(written))
if news then call('PUBLISH', P .. 'hints', ARGV[1] .. ' [' .. news .. ']') end

${bareLog}
logAll(ids, amounts, kinds, #kinds, given, ',' .. now .. ',"ENQUEUE",null,"${bornReady}",0]')
if l > 0 then writeLog() end
for first = 1, given, ${blockMax} do
  local to = math.min(first + ${blockMax - 1}, given)
  local block = { unpack(ids, first, to) }
  if #block % 2 == 1 then block[#block + 1] = '' end
  call('XADD', P .. 'all', format('%d', base + to) .. '-0', '', format('%d', base + first), unpack(block))
end
`,
  answer: 'answer',
}
