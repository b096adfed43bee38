/**
 * Stores one plain job: due at once, behind all others, without a unique key, of a type without limits. It writes what
 * `insert` writes, without the tables that many jobs need.
 * Answers a text: the server's time, the number of the last transition, the time of the enqueue, and how many jobs of
 * the type are queued. Only the first two if it wrote nothing, because `insert` has to look closer.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { jobStates } from '../../../core/lifecycle.ts'
import { bornReady } from '../../../core/insert.ts'
import { figureAt } from '../figures.ts'
import { grownMark, timeChars } from '../grown.ts'
import { bytesAt, numberAt, numbers, numbersFormat } from './figures.ts'
import { cutEvery, readTime, refused, seqName, type LuaScript } from './lua.ts'

const queuedAt = jobStates.indexOf(bornReady) + 1
const queued = numberAt(queuedAt)
const enqueued = numberAt(figureAt.activity + enqueueCounted.figure)
const [queuedFrom, queuedTo] = bytesAt(queuedAt)

export const insertOneScript: LuaScript = {
  stores: true,
  bare: true,
  definitions: `
local FIGURES = ${numbersFormat}
local ZERO = ('\\0'):rep(8)
`,
  call: `
local call, P, id, type = redis.call, KEYS[1], ARGV[4], ARGV[5]
${readTime}
local figures = P .. 'figures'
local texts = call('HMGET', figures, ${seqName}, '', type)
local last, all, ofType = texts[1] or '0', texts[2], texts[3]
local seq = (tonumber(last) or ${refused}) + 1
if not all or not ofType or all:sub(${bytesAt(figureAt.waits).join(', ')}) ~= ZERO then return clock .. ' ' .. last end
local ${numbers} = struct.unpack(FIGURES, ofType)
if ${numberAt(figureAt.minute)} ~= nowMs - nowMs % 60000 or ${numberAt(figureAt.limited)} ~= 0 then return clock .. ' ' .. last end
local number = string.format('%d', seq)
local row = string.format('${grownMark}%0${timeChars}d', nowMs) .. '1\\0' .. number .. '\\0\\0\\0\\0\\0${bornReady}\\0' .. ARGV[6]
if call('HSETNX', P .. 'jobs', id, row) == 0 then return clock .. ' ' .. last end
call('RPUSH', P .. 'list:' .. type, number .. ' ' .. id)
if ${numberAt(figureAt.told)} == 0 then
  call('PUBLISH', P .. 'hints', ARGV[1] .. ' [' .. cjson.encode({ kind = 'ready', type = type }) .. ']')
end
${queued}, ${enqueued}, ${numberAt(figureAt.listed)}, ${numberAt(figureAt.told)} = ${queued} + 1, ${enqueued} + 1, ${numberAt(figureAt.listed)} + 1, 1
local allQueued = struct.pack('>d', struct.unpack('>d', all, ${queuedFrom}) + 1)
call('HSET', figures, ${seqName}, number, '', all:sub(1, ${queuedFrom - 1}) .. allQueued .. all:sub(${queuedTo + 1}),
  type, struct.pack(FIGURES, ${numbers}))
local text = type .. '\\0[' .. number .. ',' .. now .. ',"ENQUEUE",null,"${bornReady}",0]'
if seq % ${cutEvery} == 0 then
  call('XADD', P .. 'log', 'MINID', '~', math.max(0, seq - ARGV[2] + 1), number .. '-0', id, text)
else
  call('XADD', P .. 'log', number .. '-0', id, text)
end
call('XADD', P .. 'all', number .. '-0', '', number, id, '')
`,
  answer: `clock .. ' ' .. number .. ' ' .. now .. ' ' .. ${queued}`,
}
