/** The part of the scripts that counts failed attempts, and the jobs that they killed, in groups of like errors. */
import { caps } from '../../../core/caps.ts'

export const failuresLua = `
-- Groups of a type are told from those of another by the length of its name.
local function failureName(type, fingerprint) return #type .. ':' .. type .. ':' .. fingerprint end

-- A job that died at a time, with an error of a group, is one of its dead jobs from now on, or no longer.
local function countDead(type, fingerprint, diedAt, by)
  local group = P .. 'failure:' .. failureName(type, fingerprint)
  local first = call('HGET', group, 'firstAt')
  if not first or tonumber(first) > tonumber(diedAt) then return end
  if call('HINCRBY', group, 'dead', by) < 0 then call('HSET', group, 'dead', 0) end
end

local function addFailure(failure, at, seq)
  local type, fingerprint = failure.type, failure.fingerprint
  local name = failureName(type, fingerprint)
  local group = P .. 'failure:' .. name
  if call('HINCRBY', group, 'count', 1) == 1 then
    call('HSET', group, 'type', type, 'fingerprint', fingerprint, 'name', failure.name, 'message', failure.message,
      'firstAt', at, 'dead', 0)
    if failure.code then call('HSET', group, 'code', failure.code) end
  end
  call('HSET', group, 'lastAt', at, 'lastId', failure.id)
  call('ZADD', P .. 'failures', seq, name)
  call('ZADD', P .. 'failures:' .. type, seq, fingerprint)
  if call('ZCARD', P .. 'failures:' .. type) <= ${caps.failureGroups} then return end
  local oldest = failureName(type, call('ZPOPMIN', P .. 'failures:' .. type)[1])
  call('ZREM', P .. 'failures', oldest)
  call('DEL', P .. 'failure:' .. oldest)
end
`
