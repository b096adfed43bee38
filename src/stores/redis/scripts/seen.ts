/**
 * Takes note that a registered worker was seen. Answers whether it is registered (0 or 1), and the id of the current
 * epoch.
 */
import type { LuaScript } from './lua.ts'

export const seenScript: LuaScript = {
  definitions: '',
  call: `
call('ZADD', P .. 'seen', 'XX', now, ARGV[4])
`,
  answer: `call('HEXISTS', P .. 'workers', ARGV[4]), epochNow()`,
}
