/** The part of scripts that frees the unique keys of jobs that cannot be read: see ../unique-keys.ts. */
import { at, tail } from './lua.ts'

export const uniqueKeysLua = `
local ESCAPES = { ['"'] = '\\\\"', ['\\\\'] = '\\\\\\\\', ['\\b'] = '\\\\b', ['\\f'] = '\\\\f', ['\\n'] = '\\\\n', ['\\r'] = '\\\\r', ['\\t'] = '\\\\t' }
-- A text as JSON, letter by letter as the processes write it.
local function jsonText(text)
  local function escape(c) return ESCAPES[c] or string.format('\\\\u%04x', c:byte()) end
  return '"' .. text:gsub('[%z\\1-\\31"\\\\]', escape) .. '"'
end
local function textOfRow(text) return (text:gsub('\\1([01])', { ['0'] = '\\0', ['1'] = '\\1' })) end

local function decoded(text)
  local isRead, value = pcall(cjson.decode, text)
  return isRead and type(value) == 'table' and value or nil
end

-- What stands in a row as JSON; nil if it cannot be read.
local function restOf(row)
  local rest = row[${tail}]:match('^%Z*')
  return decoded(rest ~= '' and rest or '{}')
end

-- The name of the unique key of a type.
local function nameOfKey(type, key) return '[' .. jsonText(textOfRow(type)) .. ',' .. jsonText(key) .. ']' end

local function isLive(id)
  local text = call('HGET', JOBS, id)
  local row = text and parse(text)
  return row and INDEX[row[${at.state}]] ~= 'ended'
end

-- A job that has waited for the end of another one is due at its own time.
local function release(id, dueAt)
  local text = call('HGET', JOBS, id)
  local row = text and parse(text)
  if not row or INDEX[row[${at.state}]] ~= 'due' then return end
  index(id, row, -1)
  row[${at.rev}], row[${at.wakeAt}] = following(row[${at.rev}]), int(dueAt)
  index(id, row, 1)
  writeRows({ id, rowText(row) })
end

-- The entry of a job that has given up a key: its id, and the id and the time of the one that waits for its end, if one
-- does.
local function predecessorOf(text)
  local entry = decoded(text) or {}
  local next = type(entry.next) == 'table' and entry.next or {}
  return entry.id, next.id, tonumber(next.dueAt) or nowMs
end

local function withoutNext(name, leaving)
  call('HSET', P .. 'predecessors', name, '{"id":' .. jsonText(leaving) .. ',"next":null}')
end

-- Frees what a job has of a key: the key, if it holds it, and the job that waits for its end.
local function freeKey(name, id)
  if call('HGET', P .. 'holders', name) == id then call('HDEL', P .. 'holders', name) end
  local text = call('HGET', P .. 'predecessors', name)
  if not text then return end
  local leaving, next, dueAt = predecessorOf(text)
  if leaving == id then
    call('HDEL', P .. 'predecessors', name)
    if next then release(next, dueAt) end
  elseif next == id then
    withoutNext(name, leaving)
  end
end
`
