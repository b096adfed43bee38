/**
 * Reads how many jobs there are, and which queues are paused, with the number of the last transition: as they were
 * together.
 */
import type { LuaScript } from './lua.ts'

export const countsScript: LuaScript = {
  definitions: '',
  call: '',
  answer: `int(seqNow), call('HGETALL', P .. 'counts'), call('HGETALL', P .. 'paused')`,
}
