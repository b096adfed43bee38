/**
 * The part of the scripts that arranges groups: a group is the queued jobs of a key. Those that may be claimed from have their first
 * job among the heads of their type. The key '' stands for jobs without one, where keys share the claims by weight.
 */
import { defaultKeyWeight } from '../../../core/shares.ts'
import { at } from './lua.ts'

export const groupsLua = `
local function queueOf(type, key) if key == '' then return P .. 'queue:' .. type end return groupKey(type, key) end

-- Where a job is in the order of its queue, as text: by priority, then by place. The priority is within 32 bits.
local function rank(score, member) return string.format('%010.0f', 2147483648 + tonumber(score)) .. member:sub(1, 16) end

-- The first job of a group stands among the heads of its type, by the finish of its key (0 where keys do not share) and its
-- rank; unless the key is at its cap, or has no free claim.
local function arrange(type, key)
  local heads, head = P .. 'heads:' .. type, P .. 'head:' .. type
  local old = call('HGET', head, key)
  if old and old ~= '' then call('ZREM', heads, old) end
  local leased = tonumber(call('HGET', P .. 'held:' .. type, key) or '0')
  if leased <= 0 then call('HDEL', P .. 'held:' .. type, key) end
  local first = call('ZRANGE', queueOf(type, key), 0, 0, 'WITHSCORES')
  local limited = call('HGET', P .. 'limits:' .. type, key)
  local shared = shareOf(type).on
  if #first == 0 or (key == '' and not shared) then
    call('HDEL', head, key)
    if limited then call('ZREM', P .. 'limited:' .. type, key) end
    if leased <= 0 and #first == 0 then call('HDEL', P .. 'starts:' .. type, key) end
    return
  end
  local cap = call('HGET', P .. 'caps', type)
  local capped = cap and cap ~= '' and key ~= '' and leased >= tonumber(cap)
  if limited then
    if capped then call('ZREM', P .. 'limited:' .. type, key) else call('ZADD', P .. 'limited:' .. type, limited, key) end
  end
  if capped or limited then
    call('HSET', head, key, '')
    return
  end
  local finish = 0
  if shared then
    local weight = parse(call('HGET', JOBS, first[1]:sub(17)))[${at.keyWeight}]
    finish = tonumber(call('HGET', P .. 'starts:' .. type, key) or '0') + 1 / (tonumber(weight) or ${defaultKeyWeight})
  end
  local member = rank(first[2], first[1]) .. key
  call('ZADD', heads, string.format('%.17g', finish), member)
  call('HSET', head, key, member)
end
`
