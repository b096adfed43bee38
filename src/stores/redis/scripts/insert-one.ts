/**
 * Stores one plain job: due at once, behind all others, without a unique key, of a type without limits. It writes what
 * `insert` writes, without the tables that many jobs need.
 * Answers a text: the server's time, the number of the last transition, the time of the enqueue, and how many jobs of
 * the type are queued. Only the first two if it wrote nothing, because `insert` has to look closer.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { jobStates } from '../../../core/lifecycle.ts'
import { bornReady } from '../../../core/insert.ts'
import { figureAt, figuresSize } from '../figures.ts'
import { grownMark, timeChars } from '../grown.ts'
import { cutEvery, seqName, type LuaScript } from './lua.ts'

/** The numbers of a type, each a variable: a table would cost more than all else that is done with them. */
const figures = Array.from({ length: figuresSize }, (_, i) => `f${i + 1}`)
const at = (place: number): string => `f${place}`
const queuedAt = jobStates.indexOf(bornReady) + 1
const queued = at(queuedAt)
const enqueued = at(figureAt.activity + enqueueCounted.figure)
/** Where a number begins in a text of numbers. */
const byteAt = (place: number): number => 8 * (place - 1) + 1

export const insertOneScript: LuaScript = {
  stores: true,
  bare: true,
  definitions: `
local FIGURES = '>${'d'.repeat(figuresSize)}'
local ZERO = ('\\0'):rep(8)
`,
  call: `
local call, P, id, type = redis.call, KEYS[1], ARGV[4], ARGV[5]
local time = call('TIME')
local clock = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
local now = ARGV[3] ~= '' and ARGV[3] or clock
local nowMs, figures = tonumber(now), P .. 'figures'
local texts = call('HMGET', figures, ${seqName}, '', type)
local last, all, ofType = texts[1] or '0', texts[2], texts[3]
if not all or not ofType or all:sub(${byteAt(figureAt.waits)}, ${byteAt(figureAt.waits) + 7}) ~= ZERO then return clock .. ' ' .. last end
local ${figures.join(', ')} = struct.unpack(FIGURES, ofType)
if ${at(figureAt.minute)} ~= nowMs - nowMs % 60000 or ${at(figureAt.limited)} ~= 0 then return clock .. ' ' .. last end
local seq = last + 1
local number = string.format('%d', seq)
local row = string.format('${grownMark}%0${timeChars}d', nowMs) .. '1\\0' .. number .. '\\0\\0\\0\\0\\0${bornReady}\\0' .. ARGV[6]
if call('HSETNX', P .. 'jobs', id, row) == 0 then return clock .. ' ' .. last end
call('RPUSH', P .. 'list:' .. type, number .. ' ' .. id)
if ${at(figureAt.told)} == 0 then
  call('PUBLISH', P .. 'hints', ARGV[1] .. ' [' .. cjson.encode({ kind = 'ready', type = type }) .. ']')
end
${queued}, ${enqueued}, ${at(figureAt.listed)}, ${at(figureAt.told)} = ${queued} + 1, ${enqueued} + 1, ${at(figureAt.listed)} + 1, 1
local allQueued = struct.pack('>d', struct.unpack('>d', all, ${byteAt(queuedAt)}) + 1)
call('HSET', figures, ${seqName}, number, '', all:sub(1, ${byteAt(queuedAt) - 1}) .. allQueued .. all:sub(${byteAt(queuedAt + 1)}),
  type, struct.pack(FIGURES, ${figures.join(', ')}))
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
