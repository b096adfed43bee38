/** The part of the scripts that knows the free slots of the workers. The rule is that of `core/hand-over.ts`. */
import { at, claimableState, leasedStates } from './lua.ts'

/** What the script answers where the core says -Infinity: there is no free slot. */
const noSlot = -1_000_000_000

export const handOverLua = `
local LEASED = ${leasedStates}

-- How many jobs each worker has leased.
local function leasesByWorker()
  local leased = {}
  local ids = call('ZRANGE', P .. 'leases', 0, -1)
  for i, member in ipairs(ids) do ids[i] = member:sub(17) end
  for _, text in ipairs(values(JOBS, ids)) do
    local worker = text and parse(text)[${at.worker}]
    if worker then leased[worker] = (leased[worker] or 0) + 1 end
  end
  return leased
end

local function jobsIn(states, type)
  local sum = 0
  for _, state in ipairs(states) do sum = sum + tonumber(call('HGET', P .. 'counts', state .. ':' .. type) or '0') end
  return sum
end

-- A text of a worker's record as rows and keys have it: see row-text.ts.
local function asInRows(text) return (text:gsub('\\1', '\\0011'):gsub('%z', '\\0010')) end

-- What a type may run at once, by the limits of a worker; without limits there are none.
local function mostOf(limits)
  if not limits then return math.huge, false end
  local concurrency = limits.concurrency
  local isUncertain = limits.rate ~= cjson.null or limits.perKey ~= cjson.null or limits.keyRate ~= nil
  return concurrency == cjson.null and math.huge or concurrency, isUncertain
end

-- How many more jobs of a type may be handed over now.
local function handOverRoom(type)
  leasesOf = leasesOf or leasesByWorker()
  if call('HGET', P .. 'paused', type) == '1' then return ${noSlot} end
  local free, runnable = 0, {}
  local workers = call('HGETALL', P .. 'workers')
  for i = 1, #workers, 2 do
    local id = workers[i]
    local info = id ~= '' and cjson.decode(workers[i + 1]).info
    local lists = false
    for _, each in ipairs(info and info.types or {}) do lists = lists or asInRows(each) == type end
    local silentMs = lists and nowMs - tonumber(call('ZSCORE', P .. 'seen', id) or '0')
    if lists and not info.paused and silentMs < (info.leaseMs or 30000) then
      free = free + math.max(0, info.slots - (leasesOf[asInRows(id)] or 0))
      for _, each in ipairs(info.types) do
        local most, isUncertain = mostOf(info.limits and info.limits[each])
        local name = asInRows(each)
        if isUncertain and name ~= type then most = 0 end
        runnable[name] = math.max(most, runnable[name] or 0)
      end
    end
  end
  if free == 0 then return ${noSlot} end
  for each, most in pairs(runnable) do
    if call('HGET', P .. 'paused', each) ~= '1' then
      free = free - math.max(0, math.min(jobsIn({ '${claimableState}' }, each), most - jobsIn(LEASED, each)))
    end
  end
  return math.min(free, runnable[type] - jobsIn(LEASED, type) - jobsIn({ '${claimableState}' }, type))
end

-- Types for which there are more free slots now than a refused insert has found.
local function freedTypes()
  local waiting = call('HGETALL', P .. 'full-slots')
  if #waiting == 0 then return waiting end
  local freed = {}
  for i = 1, #waiting, 2 do
    local type = waiting[i]
    local room = handOverRoom(type)
    if room > tonumber(waiting[i + 1]) then
      call('HDEL', P .. 'full-slots', type)
      freed[#freed + 1] = type
    else
      call('HSET', P .. 'full-slots', type, int(room))
    end
  end
  return freed
end
`
