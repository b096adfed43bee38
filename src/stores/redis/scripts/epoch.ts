/**
 * Begins an epoch of the log if the server is not the one, or not the run of it, that the last epoch began on: it may
 * have been started from an older state. Answers the epochs that are known, each with the number of the last transition
 * before it.
 */
import { epochsMax } from '../epoch.ts'
import type { LuaScript } from './lua.ts'

export const epochScript: LuaScript = {
  definitions: '',
  duringRepair: true,
  call: `
local run = call('INFO', 'server'):match('run_id:(%w+)')
if call('GET', P .. 'run') ~= run then
  call('SET', P .. 'run', run)
  call('RPUSH', P .. 'epochs', ARGV[4] .. ' ' .. int(seqNow))
  call('LTRIM', P .. 'epochs', -${epochsMax}, -1)
end
`,
  answer: `call('LRANGE', P .. 'epochs', 0, -1)`,
}
