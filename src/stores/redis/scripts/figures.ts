/** The figures of types: see ../figures.ts. */
import { activityFigures, activityPeriods, periodNames } from '../../../core/activity.ts'
import { jobStates, statesTagged } from '../../../core/lifecycle.ts'
import { figureAt, figuresSize } from '../figures.ts'
import { backlogStates, refused, seqName, type LuaScript } from './lua.ts'

/** Adds to each period. */
const periods = periodNames
  .map(
    (name) => `addToPeriod('${name}', ${activityPeriods[name].ms}, ${activityPeriods[name].kept}, at, fields, amounts)`,
  )
  .join('\n  ')

/** Where the count of each state stands; and those of states of the backlog, under these places. */
const countAt = `{${jobStates.map((state, i) => `${state}=${i + 1}`).join(',')}}`
const inBacklog = `{${jobStates.map((state) => String(statesTagged('backlog').has(state))).join(',')}}`

/** A statement for a claim of a job of a type that has this number, or one below it. */
export const noteClaim = (type: string, number: string): string =>
  `if ${number} > figuresOf(${type})[${figureAt.claimed}] then setFigure(${type}, ${figureAt.claimed}, ${number}) end`

/** The numbers of a type as variables: a table would cost more than all else that a bare script does with them. */
export const numberAt = (place: number): string => `f${place}`
export const numbers = Array.from({ length: figuresSize }, (_, i) => numberAt(i + 1)).join(', ')
/** The format of their text. */
export const numbersFormat = `'>${'d'.repeat(figuresSize)}'`
/** The first and the last byte of one of them in it. */
export const bytesAt = (place: number): readonly [first: number, last: number] => [8 * place - 7, 8 * place]

export const figuresLua = `
local COUNT_AT, IN_BACKLOG, SEQ = ${countAt}, ${inBacklog}, ${seqName}
local FIGURES = ${numbersFormat}
-- The figures of types that were read, those of them that have changed, and the minute that the activity is counted in.
local figures, changed, minuteNow

local function readFigures(type, text)
  local list = {}
  if text and #text == ${8 * figuresSize} then list = { struct.unpack(FIGURES, text) } else for i = 1, ${figuresSize} do list[i] = 0 end end
  figures[type] = list
  return list
end
-- Reads the figures of types together.
local function loadFigures(types)
  local missing = {}
  for _, type in ipairs(types) do if not figures[type] then missing[#missing + 1] = type end end
  for i, text in ipairs(values(P .. 'figures', missing)) do readFigures(missing[i], text) end
end
-- Begins a call: reads the number of the last transition, and the figures of all types together and of some.
local function beginFigures(types, duringRepair)
  figures, changed = {}, {}
  local fields = { SEQ, '', unpack(types) }
  local texts = values(P .. 'figures', fields)
  local last = texts[1] or '0'
  seqNow = tonumber(last) or duringRepair and tonumber(last:match('%d+$') or '0') or ${refused}
  seqFirst, logCount, logWritten = seqNow, 0, 0
  for i = 2, #fields do readFigures(fields[i], texts[i]) end
end
local function figuresOf(type) return figures[type] or readFigures(type, call('HGET', P .. 'figures', type)) end
local function countOf(state, type) return figuresOf(type)[COUNT_AT[state]] end

local function setFigure(type, place, value)
  local list = figuresOf(type)
  if list[place] == value then return false end
  list[place], changed[type] = value, true
  return true
end

-- By how much the number of jobs of a type in a state changes.
local function count(state, type, by)
  local place, ofType, all = COUNT_AT[state], figuresOf(type), figuresOf('')
  ofType[place], all[place] = ofType[place] + by, all[place] + by
  changed[type], changed[''] = true, true
  if IN_BACKLOG[place] then
    shrunk = shrunk - by
    shrunkOf[type] = (shrunkOf[type] or 0) - by
  end
end

-- How long the backlog is: of a type, or of all.
local function backlog(type)
  local sum = 0
  for _, state in ipairs(${backlogStates}) do sum = sum + countOf(state, type or '') end
  return sum
end

local tally, beginActivity
do
-- Adds to the figures of the period that contains a time. Where it begins, some of those that are no longer kept are
-- removed.
local function addToPeriod(period, ms, kept, at, fields, amounts)
  local start = math.floor(at / ms) * ms
  local starts = P .. 'activity:' .. period
  local sums = addNumbers(starts .. ':' .. int(start), fields, amounts)
  -- A figure that stood at 0 may be the first of its period.
  if sums[1] ~= amounts[1] or call('ZADD', starts, int(start), int(start)) == 0 then return end
  for _, old in ipairs(call('ZRANGEBYSCORE', starts, '-inf', int(start - kept * ms), 'LIMIT', 0, 10)) do
    call('UNLINK', starts .. ':' .. old)
    call('ZREM', starts, old)
  end
end

local function addToPeriods(at, fields, amounts)
  if #fields == 0 then return end
  ${periods}
end

-- The minute of the figures of a type is over.
local function endMinute(type, list)
  local fields, amounts = {}, {}
  for figure = 0, ${activityFigures.length - 1} do
    local place = ${figureAt.activity} + figure
    if list[place] ~= 0 then
      fields[#fields + 1] = figure .. ':' .. type
      amounts[#amounts + 1] = list[place]
      list[place] = 0
    end
  end
  addToPeriods(list[${figureAt.minute}], fields, amounts)
  list[${figureAt.minute}] = minuteNow
end

function beginActivity(at) minuteNow = at - at % 60000 end

-- Adds to a figure of the activity of a type, by its index.
function tally(type, figure, by)
  local list = figuresOf(type)
  if list[${figureAt.minute}] < minuteNow then endMinute(type, list) end
  if list[${figureAt.minute}] == minuteNow then
    list[${figureAt.activity} + figure] = list[${figureAt.activity} + figure] + by
    changed[type] = true
  else
    -- The clock was set back.
    addToPeriods(minuteNow, { figure .. ':' .. type }, { by })
  end
end
end

-- With the number of the last transition.
local function writeFigures()
  local list, n = {}, 0
  if seqNow ~= seqFirst then
    list[1], list[2] = SEQ, int(seqNow)
    n = 2
  end
  for type in pairs(changed) do
    local numbers = figures[type]
    list[n + 1], list[n + 2] = type, struct.pack(FIGURES, unpack(numbers))
    n = n + 2
  end
  each('HSET', P .. 'figures', list)
  changed = {}
end
`

/** What a script answers of types: a format of the first of their numbers, and what it reads of the text for them. */
const answered = (count: number): string => `('%d '):rep(${count}):sub(1, -2), '>' .. ('d'):rep(${count})`

/**
 * Reads the figures of some types, or how many jobs there are in each state of all types; with the number of the last
 * transition, and up to which number jobs are in the index of terms: as they were together. Of each the name, and the
 * numbers as a text.
 */
export const figuresScript: LuaScript = {
  definitions: `
local NONE = ('\\0'):rep(8 * ${figuresSize})
-- The numbers of a type are formatted together: there may be thousands of types.
local function addAll(answer, types, texts, numbers, packed)
  for i, text in ipairs(texts) do
    answer[2 * i - 1], answer[2 * i] = types[i], string.format(numbers, struct.unpack(packed, text or NONE))
  end
end
`,
  call: `
local answer, types, texts = {}, {}, {}
if #ARGV == 3 then
  local all, n = call('HGETALL', P .. 'figures'), 0
  for i = 1, #all, 2 do
    if all[i] ~= SEQ then
      n = n + 1
      types[n], texts[n] = all[i], all[i + 1]
    end
  end
  addAll(answer, types, texts, ${answered(jobStates.length)})
else
  for i = 4, #ARGV do types[i - 3] = ARGV[i] end
  addAll(answer, types, values(P .. 'figures', types), ${answered(figuresSize)})
end
`,
  answer: `int(seqNow), answer, call('GET', P .. 'by-term-upto') or '0'`,
}
