/** The part of the scripts that knows the free slots of the workers. The rule is that of `core/hand-over.ts`. */
import { claimableState, leasedStates } from './lua.ts'

/** What the script answers where the core says -Infinity: there is no free slot. */
const noSlot = -1_000_000_000

export const handOverLua = `
local LEASED = ${leasedStates}

-- Writes how many jobs each worker has leased: in the script that changes the leases, so that both always agree.
local function writeLeasedBy()
  local names, amounts, n = {}, {}, 0
  for worker, by in pairs(leasedBy) do
    if by ~= 0 then
      n = n + 1
      names[n], amounts[n] = worker, by
    end
  end
  leasedBy = {}
  local sums = addNumbers(P .. 'leased-by', names, amounts)
  for i, worker in ipairs(names) do
    if tonumber(sums[i]) == 0 then call('HDEL', P .. 'leased-by', worker) end
  end
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

-- The registered workers: each with its record as text, the time of its last heartbeat, and how many jobs it has leased.
local function knownWorkers()
  if workersKnown then return workersKnown end
  writeLeasedBy()
  local all, names, seen = call('HGETALL', P .. 'workers'), {}, {}
  workersKnown = {}
  for i = 1, #all, 2 do
    if all[i] ~= '' then
      names[#names + 1] = asInRows(all[i])
      workersKnown[#names] = { id = all[i], text = all[i + 1] }
    end
  end
  local times = call('ZRANGE', P .. 'seen', 0, -1, 'WITHSCORES')
  for i = 1, #times, 2 do seen[times[i]] = tonumber(times[i + 1]) end
  local leased = values(P .. 'leased-by', names)
  for i, worker in ipairs(workersKnown) do
    worker.leased, worker.seenAt = tonumber(leased[i]) or 0, seen[worker.id] or 0
  end
  return workersKnown
end

-- The record of a worker if it lists the type. A record without the name need not be read.
local function infoIfListed(worker, type)
  if type:find('^[%w.:/_-]+$') and not worker.text:find(type, 1, true) then return nil end
  worker.info = worker.info or cjson.decode(worker.text).info
  for _, each in ipairs(worker.info.types) do
    if asInRows(each) == type then return worker.info end
  end
  return nil
end

-- How many more jobs of a type may be handed over now.
local function handOverRoom(type)
  if call('HGET', P .. 'paused', type) == '1' then return ${noSlot} end
  local free, runnable = 0, {}
  for _, worker in ipairs(knownWorkers()) do
    local info = infoIfListed(worker, type)
    if info and not info.paused and nowMs - worker.seenAt < info.leaseMs then
      free = free + math.max(0, info.slots - worker.leased)
      for _, each in ipairs(info.types) do
        local most, isUncertain = mostOf(info.limits[each])
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
