/**
 * Registers a worker, or removes it. A registration stores no job: it is carried out also while the memory of the
 * server is full, because without a worker it stays so. The number of a worker is the order in which workers are
 * listed.
 */
import type { LuaScript } from './lua.ts'

export const workerScript: LuaScript = {
  definitions: '',
  call: `
local workers, id, info = P .. 'workers', ARGV[4], ARGV[5]
local changes = int(call('HINCRBY', workers, '', 1))
-- What was decoded of the records is known no longer.
call('SET', P .. 'workers-version', clock .. ' ' .. changes)
if info ~= '' then
  local before = call('HGET', workers, id)
  local number = before and before:match('^{"number":(%d+)') or changes
  call('HSET', workers, id, '{"number":' .. number .. ',"info":' .. info .. '}')
  call('ZADD', P .. 'seen', now, id)
end
for i = 6, #ARGV do
  call('HDEL', workers, ARGV[i])
  call('ZREM', P .. 'seen', ARGV[i])
end
-- It may have free slots, which inserts may wait for.
looksForSlots = info ~= ''
`,
  answer: '',
}
