/** Takes note that jobs are shown somewhere until a time: writes of them are told to every process. */
import { figureAt } from '../figures.ts'
import type { LuaScript } from './lua.ts'

export const announceScript: LuaScript = {
  definitions: '',
  call: `
local shown, till, list = P .. 'shown', int(nowMs + tonumber(ARGV[4])), {}
call('ZREMRANGEBYSCORE', shown, '-inf', now)
for i = 5, #ARGV do
  list[#list + 1] = till
  list[#list + 1] = ARGV[i]
end
each('ZADD', shown, list)
setFigure('', ${figureAt.waits}, 1)
`,
  answer: '',
}
