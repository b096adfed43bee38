/** Terms of jobs in order: see ../terms.ts. */
import { metaTextMax } from '../../../core/terms.ts'
import { timeChars } from '../grown.ts'
import { dataLetters, headFields, type HeadField } from '../row-text.ts'
import { roundMs, spanLetter, spanPast, termLetters } from '../terms.ts'
import { at, tail, type LuaScript } from './lua.ts'
import { restLua } from './rest.ts'

/**
 * Rows that one call enters, their bytes, and their terms: a script holds up every other client. It ends behind a whole
 * block.
 */
const rowsMax = 300
const bytesMax = 500_000
const termsMax = 600
/** In their order. */
const found: ReadonlySet<HeadField> = new Set(['seq', 'enqueuedAt', 'has', 'type', 'concurrencyKey'])

/** A pattern that finds fields of a row, and what follows its head up to the next zero byte. */
const fieldsPattern = `^${headFields.map((name) => (found.has(name) ? '(%Z*)%z' : '%Z*%z')).join('')}(%Z*)`

/** What scripts need that change or remove jobs. They have `restLua` before it. */
export const termsLua = `
-- Up to this number jobs are in the index.
local function indexedUpTo() return tonumber(call('GET', P .. 'by-term-upto') or '0') end

-- What a member has before the number of its job.
local function headOf(letter, value, own) return letter .. inRows(value) .. '\\0' .. (own or '') end

-- The heads of a unique key and of tags, by what a row has as JSON: jobs of a call share it.
local function headsOf(rest, known)
  local heads = known[rest]
  if heads then return heads end
  heads = {}
  local fields = (rest:find('"tags":[', 1, true) or rest:find('"key":', 1, true)) and decoded(rest) or {}
  if type(fields.key) == 'string' then heads[1] = headOf('${termLetters.key}', fields.key) end
  for _, tag in ipairs(type(fields.tags) == 'table' and fields.tags or {}) do
    if type(tag) == 'string' then heads[#heads + 1] = headOf('${termLetters.tag}', tag) end
  end
  known[rest] = heads
  return heads
end

local function mayBeTerm(text) return select(2, text:gsub('[^\\128-\\191]', '')) <= ${metaTextMax} end
local function addMeta(heads, meta)
  for name, value in pairs(meta) do
    local own = inRows(name) .. '\\0'
    if type(value) == 'string' then
      if mayBeTerm(value) then heads[#heads + 1] = headOf('${termLetters.meta}', value, own .. 't') end
    elseif type(value) == 'number' and value % 1 == 0 and math.abs(value) <= ${Number.MAX_SAFE_INTEGER} then
      heads[#heads + 1] = headOf('${termLetters.meta}', int(value), own .. 'i')
    end
  end
end

-- Adds the members of a job to a list, each behind a score if one is given.
-- @param rest what its row has as JSON
-- @param known keeps what was made of it
local function addTerms(list, id, seq, has, key, rest, known, score)
  local place = pad(seq) .. id
  local function addAll(heads)
    for _, head in ipairs(heads) do
      if score then list[#list + 1] = score end
      list[#list + 1] = head .. place
    end
  end
  if rest ~= '' then addAll(headsOf(rest, known)) end
  local own = {}
  if key ~= '' then own[1] = '${termLetters.concurrencyKey}' .. key .. '\\0' end
  if has:find('${dataLetters.meta}', 1, true) then addMeta(own, decoded(call('HGET', P .. 'data:meta', id) or '') or {}) end
  addAll(own)
end
local function addTermsOf(list, id, row, known, score)
  addTerms(list, id, row[${at.seq}], row[${at.has}], row[${at.concurrencyKey}], row[${tail}]:match('^%Z*'), known, score)
end

-- Takes jobs out of the index: a list of ids, each with its row. Before anything of them is written.
local function leaveTerms(jobs)
  local upto, members, known = indexedUpTo(), {}, {}
  for i = 1, #jobs, 2 do
    if tonumber(jobs[i + 1][${at.seq}]) <= upto then addTermsOf(members, jobs[i], jobs[i + 1], known) end
  end
  each('ZREM', P .. 'by-term', members)
end

-- Enters a job again, after all of it was written.
local function enterTerms(id, row)
  if tonumber(row[${at.seq}]) > indexedUpTo() then return end
  local members = {}
  addTermsOf(members, id, row, {}, '0')
  each('ZADD', P .. 'by-term', members)
end
`

/**
 * Enters the jobs that follow those which are in the index: their terms, and of each type which numbers were entered in
 * the call that has entered any of it. Answers how many jobs it has entered, if there are more; 0 if there are none.
 * Nothing is done while no more than a number of jobs are left; nor, where it is a turn, if a process has had one
 * lately.
 */
export const fillScript: LuaScript = {
  stores: true,
  definitions: `
${restLua}${termsLua}
-- Of a row what tells its terms.
local FIELDS = '${fieldsPattern}'
-- A row that grows is of a job without keys and meta.
local function mayHaveTerms(text) return text:byte() ~= 43 or text:find('"tags":[', 1, true) end

-- When jobs of types were enqueued: the first and the last of each.
local firsts, lasts
local function noteType(type, at)
  if not firsts[type] or at < firsts[type] then firsts[type] = at end
  if not lasts[type] or at > lasts[type] then lasts[type] = at end
end
-- Rows of one type that grow mostly have the same fields up to it behind their numbers.
local head, headType
local function typeOfGrown(text)
  local from = select(2, text:find('^%Z*%z%Z*%z')) + 1
  if not head or text:sub(from, from + #head - 1) ~= head then
    local before, type = text:match('^(${'%Z*%z'.repeat(headFields.indexOf('type') - 2)})(%Z*)', from)
    head, headType = before .. type .. '\\0', type
  end
  return headType
end

-- Removes entries of types whose jobs are gone. It goes on where the last call has stopped.
local function tidySpans(most)
  local key, cursor = P .. 'by-term', P .. 'by-term-tidied'
  local members = call('ZRANGE', key, '(' .. (call('GET', cursor) or '${spanLetter}'), '(${spanPast}', 'BYLEX', 'LIMIT', 0, int(most))
  for _, member in ipairs(members) do
    local first, last = member:match('%z(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)%d+$')
    if #call('XRANGE', P .. 'all', int(tonumber(first)) .. '-0', int(tonumber(last)) .. '-0', 'COUNT', 1) == 0 then call('ZREM', key, member) end
  end
  if #members < most then call('DEL', cursor) else call('SET', cursor, members[#members]) end
end

local function fill(most)
  local key, all, upto = P .. 'by-term', P .. 'all', indexedUpTo()
  local before, members, known, rows, bytes, added = upto, {}, {}, 0, 0, 0
  firsts, lasts, head = {}, {}, nil
  while rows < ${rowsMax} and bytes < ${bytesMax} and #members < ${2 * termsMax} do
    local block = call('XRANGE', all, int(upto + 1) .. '-0', '+', 'COUNT', 1)[1]
    local last = block and tonumber(block[1]:match('^%d+'))
    if not block then upto = seqNow end
    if not block or last > seqNow - most then
      most = nil
      break
    end
    local ids = { unpack(block[2], 3) }
    for i, text in ipairs(values(JOBS, ids)) do
      bytes = bytes + #(text or '')
      if text and text:byte() == 43 then noteType(typeOfGrown(text), tonumber(text:sub(2, ${timeChars + 1}))) end
      if text and mayHaveTerms(text) then
        local seq, at, has, type, concurrencyKey, rest = text:match(FIELDS)
        -- The id may be that of a later job.
        if seq and tonumber(seq) <= last then
          if at ~= '' then noteType(type, tonumber(at)) end
          addTerms(members, ids[i], seq, has, concurrencyKey, rest, known, '0')
        end
      end
    end
    upto, rows = last, rows + #ids
  end
  for type, at in pairs(firsts) do
    members[#members + 1] = '0'
    members[#members + 1] = '${spanLetter}' .. type .. '\\0' .. pad(int(before + 1)) .. pad(int(upto)) .. pad(int(at)) .. pad(int(lasts[type]))
    added = added + 1
  end
  each('ZADD', key, members)
  tidySpans(2 * added + 10)
  call('SET', key .. '-upto', int(upto))
  return most and rows or 0
end
`,
  call: `
local most = tonumber(ARGV[4])
if call('HLEN', JOBS) <= most then return { stamp(), '', 0 } end
if ARGV[5] ~= '' and not call('SET', P .. 'by-term-turn', origin, 'NX', 'PX', ${roundMs}) then return { stamp(), '', 0 } end
`,
  answer: 'fill(most)',
}

/** Entries that one call of `having` compares, some at a time. */
const compared = { most: 2_000, chunk: 500 }

/**
 * Of an index in the order of the enqueues the jobs that have all of some terms. Answers the number up to which
 * (empty at the end), and of each job its id and number.
 */
export const havingScript: LuaScript = {
  definitions: `
-- Of entries, of which each is an id and a number, the places of those that have a term.
local function thoseWith(prefix, entries, places)
  local members, kept = {}, {}
  -- Jobs of a kind were often enqueued at one time.
  local first, last = tonumber(entries[2]), tonumber(entries[#entries])
  if first > last then first, last = last, first end
  local from, past = '[' .. prefix .. pad(int(first)), '(' .. prefix .. pad(int(last + 1))
  if call('ZLEXCOUNT', P .. 'by-term', from, past) == 0 then return kept end
  for i, place in ipairs(places) do members[i] = prefix .. pad(entries[place + 1]) .. entries[place] end
  for i, score in ipairs(call('ZMSCORE', P .. 'by-term', unpack(members))) do if score then kept[#kept + 1] = places[i] end end
  return kept
end

-- @param from the number before the first one; '' at the beginning
local function having(index, from, newest, most, prefixes)
  local order, past = newest and 'REV' or nil, newest and '-inf' or '+inf'
  local looked, last, found = 0, from, {}
  while looked < ${compared.most} and #found < 2 * most do
    local start = last ~= '' and '(' .. last or newest and '+inf' or '-inf'
    local request = { index, start, past, 'BYSCORE', 'LIMIT', 0, ${compared.chunk}, 'WITHSCORES', order }
    local entries = call('ZRANGE', unpack(request))
    local n, places = #entries, {}
    for i = 1, n, 2 do places[#places + 1] = i end
    for _, prefix in ipairs(prefixes) do if #places > 0 then places = thoseWith(prefix, entries, places) end end
    for _, i in ipairs(places) do
      found[#found + 1] = entries[i]
      found[#found + 1] = entries[i + 1]
    end
    if n < ${2 * compared.chunk} then return { '', found } end
    last, looked = entries[n], looked + n / 2
  end
  return { last, found }
end
`,
  call: '',
  answer: `having(ARGV[4], ARGV[5], ARGV[6] ~= '', tonumber(ARGV[7]), { unpack(ARGV, 8) })`,
}

/**
 * Finds terms of a kind that begin with a text, with the number of their jobs, up to one more than a number of these.
 * Each is the first one after the one before: its jobs are not read.
 */
export const termsScript: LuaScript = {
  definitions: `
local function termsFrom(letter, text, limit, countMax)
  local key, found = P .. 'by-term', {}
  local from, past = '[' .. letter .. text, '(' .. letter .. text .. '\\255'
  while #found < 2 * limit do
    local member = call('ZRANGE', key, from, past, 'BYLEX', 'LIMIT', 0, 1)[1]
    if not member then break end
    local term = member:match(letter == '${termLetters.meta}' and '^%Z*%z%Z*%z.' or '^%Z*%z')
    found[#found + 1] = term
    from = '[' .. term .. ':'
    found[#found + 1] = math.min(call('ZLEXCOUNT', key, '[' .. term, '(' .. term .. ':'), countMax)
  end
  return found
end
`,
  call: `
local found = {}
for i = 7, #ARGV do found[#found + 1] = termsFrom(ARGV[i], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])) end
`,
  answer: 'found',
}
