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

-- What the types of a worker may run at once.
local function kindOf(info)
  local kind, parts = {}, {}
  for i, each in ipairs(info.types) do
    local most, isUncertain = mostOf(info.limits[each])
    kind[i] = { type = inRows(each), most = most, isUncertain = isUncertain }
    parts[i] = kind[i].type .. '\0' .. tostring(most) .. tostring(isUncertain)
  end
  kind.name = table.concat(parts, '\0')
  return kind
end

-- The records of workers by namespace, as they were when one changed last. A library keeps them from one call to the
-- next: to decode the records of 1,000 workers takes 80 ms. A script that is sent by itself decodes them each time.
local recordsOf, recordsKept = {}, 0

-- Takes note of a worker. Those of equal records share what their types may run at once.
local function addWorker(known, worker)
  local n, kind = #known.all + 1, worker.kind
  known.all[n], known.names[n], known.byId[worker.id] = worker, inRows(worker.id), worker
  known.leaseMs = math.min(known.leaseMs, worker.leaseMs)
  worker.kind = known.kinds[kind.name] or kind
  if known.kinds[kind.name] then return end
  known.kinds[kind.name] = kind
  for _, each in ipairs(kind) do
    local list = known.listing[each.type] or {}
    if list[#list] ~= kind then list[#list + 1] = kind end
    known.listing[each.type] = list
  end
end

-- The registered workers, and the kinds of those that list a type.
function registeredWorkers()
  local version = call('GET', P .. 'workers-version')
  local before = recordsOf[P]
  if version and before and before.version == version then return before end
  if not before then recordsKept = recordsKept + 1 end
  if recordsKept > ${namespacesMax} then recordsOf, recordsKept = {}, 1 end
  local known = { version = version, all = {}, names = {}, byId = {}, kinds = {}, listing = {}, leaseMs = math.huge }
  local flat = call('HGETALL', P .. 'workers')
  for i = 1, #flat, 2 do
    local id, text = flat[i], flat[i + 1]
    local worker = before and before.byId[id]
    if id ~= '' and not (worker and worker.text == text) then
      local info = cjson.decode(text).info
      worker = { id = id, text = text, slots = info.slots, leaseMs = info.leaseMs, paused = info.paused, kind = kindOf(info) }
    end
    if id ~= '' then addWorker(known, worker) end
  end
  recordsOf[P] = known
  return known
end

-- How many free slots the workers of each kind have: of those that are not paused, and not lost. It is known when those
-- were seen that may be lost; of the others it is not, if all are known.
local function workersNow()
  if workersKnown then return workersKnown end
  writeLeasedBy()
  local known, seenAt = registeredWorkers(), {}
  local areSeen = call('ZCARD', P .. 'seen') == #known.all
  local latest = areSeen and known.leaseMs < math.huge and int(nowMs - known.leaseMs) or '+inf'
  local times = call('ZRANGEBYSCORE', P .. 'seen', '-inf', latest, 'WITHSCORES')
  for i = 1, #times, 2 do seenAt[times[i]] = tonumber(times[i + 1]) end
  local leased, others = values(P .. 'leased-by', known.names), areSeen and math.huge or 0
  workersKnown = {}
  for n, worker in ipairs(known.all) do
    if not worker.paused and nowMs - (seenAt[worker.id] or others) < worker.leaseMs then
      local free = math.max(0, worker.slots - (tonumber(leased[n]) or 0))
      workersKnown[worker.kind] = (workersKnown[worker.kind] or 0) + free
    end
  end
  return workersKnown
end

-- How many more jobs of a type may be handed over now.
function handOverRoom(type)
  if figuresOf(type)[${figureAt.paused}] == 1 then return ${noSlot} end
  local current, free, kinds, runnable, types = workersNow(), 0, {}, {}, {}
  for _, kind in ipairs(registeredWorkers().listing[type] or {}) do
    if current[kind] then
      free = free + current[kind]
      kinds[kind] = true
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
