/**
 * Sets jobs aside that a process could not read (`put`; `claimed`, of its claim: with type, name of the claim and
 * worker), or removes such jobs with all that is kept of them (`drop`). Or removes what indexes of times have of jobs
 * that are not there (`orphans`). Their unique keys are free from then on, if their rows tell them. Answers the ids
 * of those that were there.
 */
import { started } from '../grown.ts'
import { at, fieldsOfLetters, type LuaScript } from './lua.ts'
import { restLua } from './rest.ts'
import { termsLua } from './terms.ts'
import { uniqueKeysLua } from './unique-keys.ts'

export const asideScript: LuaScript = {
  definitions: `
${restLua}${termsLua}${uniqueKeysLua}
local function freeKeyOf(id, row)
  local rest = row and restOf(row)
  local name = row and row[${at.keyName}] or ''
  if name == '' and rest and type(rest.key) == 'string' then name = nameOfKey(row[${at.type}], rest.key) end
  if name ~= '' then freeKey(name, id) end
end

local function put(id)
  local text = call('HGET', JOBS, id)
  if not text then return false end
  local row = parse(text)
  if row then
    leaveTerms({ id, row })
    index(id, row, -1)
    flush()
    if INDEX[row[${at.state}]] == 'lease' then left[row[${at.type}]] = true end
  end
  setAside(id, text)
  freeKeyOf(id, row)
  return true
end

-- A job of which the row itself may not tell what the claim has counted.
local function putClaimed(id, type, claim, worker)
  local text = call('HGET', JOBS, id)
  if not text then return false end
  if parse(text) then return put(id) end
  count('${started}', type, -1)
  leasedBy[worker] = (leasedBy[worker] or 0) - 1
  left[type] = true
  leaveClaim(claim, 1)
  setAside(id, text)
  return true
end

-- Due jobs, or expired leases, of which there is no row.
local function dropOrphans(key)
  for _, member in ipairs(call('ZRANGEBYSCORE', P .. key, '-inf', now, 'LIMIT', 0, 500)) do
    if member:byte() ~= 1 and call('HEXISTS', JOBS, member:sub(17)) == 0 then call('ZREM', P .. key, member) end
  end
  return false
end

local function drop(id)
  local text = call('HGET', P .. 'aside', id)
  if not text then return false end
  call('HDEL', P .. 'aside', id)
  -- Another job may have the id meanwhile.
  if call('HEXISTS', JOBS, id) == 0 then freeKeyOf(id, parse(text)) end
  for _, field in pairs(${fieldsOfLetters}) do call('HDEL', P .. 'data:' .. field, id) end
  call('DEL', P .. 'steps:' .. id, P .. 'checkpoints:' .. id, P .. 'inbox:' .. id)
  return true
end
`,
  call: `
local acts, found = { put = put, claimed = putClaimed, drop = drop, orphans = dropOrphans }, {}
local act, step = acts[ARGV[4]], ARGV[4] == 'claimed' and 4 or 1
for i = 5, #ARGV, step do if act(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) then found[#found + 1] = ARGV[i] end end
`,
  answer: 'found',
}
