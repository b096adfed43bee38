/** Takes note that a registered worker was seen. */
import type { LuaScript } from './lua.ts'

export const seenScript: LuaScript = {
  definitions: '',
  call: `
call('ZADD', P .. 'seen', 'XX', now, ARGV[4])
`,
  answer: '',
}
