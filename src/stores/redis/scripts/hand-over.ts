/** The part of the scripts that knows the free slots of the workers. The rule is that of `core/hand-over.ts`. */
import { figureAt } from '../figures.ts'
import { claimableState, leasedStates } from './lua.ts'

/** What the script answers where the core says -Infinity: there is no free slot. */
const noSlot = -1_000_000_000
/** Namespaces of which the server keeps the decoded records of the workers. */
const namespacesMax = 20

export const handOverLua = `
local writeLeasedBy, registeredWorkers, handOverRoom, freedTypes
do
local LEASED = ${leasedStates}

-- Writes how many jobs each worker has leased: in the script that changes the leases, so that both always agree.
function writeLeasedBy()
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

-- Of each of some types: is it paused, and how many jobs of it are queued, and how many leased?
local function loadsOf(types)
  local loads = {}
  loadFigures(types)
  for _, type in ipairs(types) do
    local load = { paused = figuresOf(type)[${figureAt.paused}] == 1, queued = countOf('${claimableState}', type), leased = 0 }
    for _, state in ipairs(LEASED) do load.leased = load.leased + countOf(state, type) end
    loads[type] = load
  end
  return loads
end

-- What a type may run at once, by the limits of a worker; without limits there are none.
local function mostOf(limits)
  if not limits then return math.huge, false end
  local concurrency = limits.concurrency
  local isUncertain = limits.rate ~= cjson.null or limits.perKey ~= cjson.null or limits.keyRate ~= nil
  return concurrency == cjson.null and math.huge or concurrency, isUncertain
end

-- What the types of a worker may run at once. Workers of equal records share one list.
local function kindOf(info, kinds)
  local kind, parts = {}, {}
  for i, each in ipairs(info.types) do
    local most, isUncertain = mostOf(info.limits[each])
    kind[i] = { type = inRows(each), most = most, isUncertain = isUncertain }
    parts[i] = kind[i].type .. '\0' .. tostring(most) .. tostring(isUncertain)
  end
  local name = table.concat(parts, '\0')
  kinds[name] = kinds[name] or kind
  return kinds[name]
end

-- The records of workers by namespace, as they were when one changed last. A library keeps them from one call to the
-- next: to decode the records of 500 workers takes milliseconds. A script that is sent by itself decodes them each
-- time.
local recordsOf, recordsKept = {}, 0

-- The registered workers, and those that list a type.
function registeredWorkers()
  local version = call('GET', P .. 'workers-version')
  local known = recordsOf[P]
  if version and known and known.version == version then return known end
  if not known then recordsKept = recordsKept + 1 end
  if recordsKept > ${namespacesMax} then recordsOf, recordsKept = {}, 1 end
  known = { version = version, all = {}, names = {}, listing = {}, leaseMs = math.huge }
  local flat, kinds = call('HGETALL', P .. 'workers'), {}
  for i = 1, #flat, 2 do
    if flat[i] ~= '' then
      local info, n = cjson.decode(flat[i + 1]).info, #known.all + 1
      local worker = { id = flat[i], number = n, slots = info.slots, leaseMs = info.leaseMs, paused = info.paused, kind = kindOf(info, kinds) }
      known.all[n], known.names[n] = worker, inRows(worker.id)
      known.leaseMs = math.min(known.leaseMs, worker.leaseMs)
      for _, each in ipairs(worker.kind) do
        local list = known.listing[each.type] or {}
        list[#list + 1] = worker
        known.listing[each.type] = list
      end
    end
  end
  recordsOf[P] = known
  return known
end

-- How many jobs each worker has leased, and when those were seen that may be lost: of the others it is not known, if
-- all are known.
local function workersNow()
  if workersKnown then return workersKnown end
  writeLeasedBy()
  local known, seenAt = registeredWorkers(), {}
  local areSeen = call('ZCARD', P .. 'seen') == #known.all
  local latest = areSeen and known.leaseMs < math.huge and int(nowMs - known.leaseMs) or '+inf'
  local times = call('ZRANGEBYSCORE', P .. 'seen', '-inf', latest, 'WITHSCORES')
  for i = 1, #times, 2 do seenAt[times[i]] = tonumber(times[i + 1]) end
  workersKnown = { leased = values(P .. 'leased-by', known.names), seenAt = seenAt, others = areSeen and math.huge or 0 }
  return workersKnown
end

-- How many more jobs of a type may be handed over now.
function handOverRoom(type)
  if figuresOf(type)[${figureAt.paused}] == 1 then return ${noSlot} end
  local current, free, kinds, runnable, types = workersNow(), 0, {}, {}, {}
  for _, worker in ipairs(registeredWorkers().listing[type] or {}) do
    if not worker.paused and nowMs - (current.seenAt[worker.id] or current.others) < worker.leaseMs then
      free = free + math.max(0, worker.slots - (tonumber(current.leased[worker.number]) or 0))
      kinds[worker.kind] = true
    end
  end
  if free == 0 then return ${noSlot} end
  for kind in pairs(kinds) do
    for _, each in ipairs(kind) do
      local most = each.isUncertain and each.type ~= type and 0 or each.most
      if not runnable[each.type] then types[#types + 1] = each.type end
      runnable[each.type] = math.max(most, runnable[each.type] or 0)
    end
  end
  local loads = loadsOf(types)
  for each, load in pairs(loads) do
    if not load.paused then free = free - math.max(0, math.min(load.queued, runnable[each] - load.leased)) end
  end
  return math.min(free, runnable[type] - loads[type].leased - loads[type].queued)
end

-- Types for which there are more free slots now than a refused insert has found.
function freedTypes()
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
end
`
