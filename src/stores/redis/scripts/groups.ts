/**
 * The part of the scripts that arranges groups: a group is the queued jobs of a key. Those that may be claimed from
 * have their first job among the heads of their type. The key '' stands for jobs without one, where keys share the
 * claims by weight.
 */
import { defaultKeyWeight } from '../../../core/shares.ts'
import { at } from './lua.ts'

/** Characters of a rank. */
export const rankChars = 26
/** Goes before the rank of a key that may not be claimed from. */
const keptBack = '!'

export const groupsLua = `
local function queueOf(type, key) if key == '' then return P .. 'queue:' .. type end return groupKey(type, key) end

-- The weight that the key of a queued job has with it.
local function weightOf(member)
  local text = call('HGET', JOBS, member:sub(17))
  local row = text and parse(text)
  return tonumber(row and row[${at.keyWeight}] or '') or ${defaultKeyWeight}
end

-- Where a job is in the order of its queue, as text: by priority, then by place. The priority is within 32 bits.
local function rank(score, member) return string.format('%010.0f', 2147483648 + tonumber(score)) .. member:sub(1, 16) end

local function leasedOf(type, key) return tonumber(call('HGET', P .. 'held:' .. type, key) or '0') end
-- Has a key as many leased jobs as it may have?
local function isAtCap(type, key, leased, cap) return key ~= '' and cap and leased >= cap end

-- The first job of a group stands among the heads of its type, by the finish of its key (0 where keys do not share) and
-- its rank; unless the key is at its cap, or has no free claim. In any case it stands among the firsts of its type, by
-- its rank.
local function arrange(type, key)
  local heads, head, firsts = P .. 'heads:' .. type, P .. 'head:' .. type, P .. 'firsts:' .. type
  -- Its rank and key as they were; a mark before them tells that it was not among the heads.
  local before = call('HGET', head, key)
  if before and before:sub(1, 1) ~= '${keptBack}' then
    call('ZREM', heads, before)
  elseif before then
    before = before:sub(2)
    call('ZREM', P .. 'capped-keys:' .. type, key)
  end
  local leased = leasedOf(type, key)
  if leased <= 0 then call('HDEL', P .. 'held:' .. type, key) end
  local first = call('ZRANGE', queueOf(type, key), 0, 0, 'WITHSCORES')
  local limited = call('HGET', P .. 'limits:' .. type, key)
  local shared = shareOf(type).on
  if #first == 0 or (key == '' and not shared) then
    call('HDEL', head, key)
    if before then call('ZREM', firsts, before) end
    if limited then
      call('ZREM', P .. 'limited:' .. type, key)
      call('HDEL', P .. 'limits:' .. type, key)
    end
    if leased <= 0 and #first == 0 then call('HDEL', P .. 'starts:' .. type, key) end
    return
  end
  local member = rank(first[2], first[1]) .. key
  if member ~= before then
    if before then call('ZREM', firsts, before) end
    call('ZADD', firsts, 0, member)
  end
  local capped = isAtCap(type, key, leased, tonumber(call('HGET', P .. 'caps', type) or ''))
  if limited then
    if capped then call('ZREM', P .. 'limited:' .. type, key) else call('ZADD', P .. 'limited:' .. type, limited, key) end
  end
  if capped then call('ZADD', P .. 'capped-keys:' .. type, 0, key) end
  if capped or limited then
    call('HSET', head, key, '${keptBack}' .. member)
    return
  end
  local finish = 0
  if shared then
    finish = tonumber(call('HGET', P .. 'starts:' .. type, key) or '0') + 1 / weightOf(first[1])
  end
  call('ZADD', heads, string.format('%.17g', finish), member)
  call('HSET', head, key, member)
end
`
