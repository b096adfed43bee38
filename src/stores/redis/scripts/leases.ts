/**
 * Leases of claims: jobs that one claim has taken and to which nothing else has happened have one lease, under the
 * name of the claim.
 */
import { at, type LuaScript } from './lua.ts'

/** Jobs of claims that one call gives leases of their own. */
const stepMax = 100

const leasesLua = `
-- Gives jobs of a claim leases of their own, which end when that of the claim does. Gives how many it has looked at.
-- @param most so many at most
local function loosen(claim, most)
  local text = call('HGET', P .. 'claims', claim)
  local all, ids, others, written = split(text), {}, {}, {}
  for i, id in ipairs(all) do if i <= most then ids[i] = id else others[#others + 1] = id end end
  for i, text in ipairs(values(JOBS, ids)) do
    local row = text and parse(text)
    if row and row.claim == claim then
      row[${at.rev}] = following(row[${at.rev}])
      enter(LEASES, row[${at.wakeAt}], pad(row[${at.seq}]) .. ids[i])
      written[#written + 1] = ids[i]
      written[#written + 1] = rowText(row)
    end
  end
  each('HSET', JOBS, written)
  if #others > 0 then
    call('HSET', P .. 'claims', claim, table.concat(others, '\\0'), claimName(claim), int(#others))
  else
    call('HDEL', P .. 'claims', claim, claimName(claim))
    call('ZREM', LEASES, claimName(claim))
  end
  return #ids
end
`

/**
 * Before leases are judged one by one: those of the claims that have run out. Answers whether it has found any. Claims
 * stand before jobs whose leases end at the same time: while any is left, a rescue finds no job behind it.
 */
export const loosenScript: LuaScript = {
  definitions: leasesLua,
  call: `
local left, found = ${stepMax}, 0
for i = 4, #ARGV do
  local leaseEnd = call('ZSCORE', LEASES, claimName(ARGV[i]))
  if leaseEnd and tonumber(leaseEnd) <= nowMs then
    found, left = 1, left - loosen(ARGV[i], left)
    if left <= 0 then break end
  end
end
`,
  answer: 'found',
}

/**
 * Extends leases of claims whose jobs are all named. Answers for each claim 1; or 0, if nothing was done, because it
 * has other jobs, or something else has happened to a job: then each is extended by itself.
 */
export const extendScript: LuaScript = {
  definitions: '',
  call: `
local leaseEnd, done, i = int(nowMs + tonumber(ARGV[4])), {}, 5
while i <= #ARGV do
  local claim, amount, named = ARGV[i], tonumber(ARGV[i + 1]), {}
  for k = i + 2, i + 1 + amount do named[ARGV[k]] = true end
  i = i + 2 + amount
  local text = call('HGET', P .. 'claims', claim)
  local ids, found, isWhole = split(text), 0, true
  for k, row in ipairs(values(JOBS, ids)) do
    local isHeld = row and row:byte() == 43 and (parse(row) or {}).claim == claim
    if isHeld and named[ids[k]] then found = found + 1 elseif isHeld then isWhole = false end
  end
  isWhole = isWhole and found == amount
  if isWhole then call('ZADD', LEASES, 'XX', leaseEnd, claimName(claim)) end
  done[#done + 1] = isWhole and 1 or 0
end
`,
  answer: 'done',
}
