/**
 * The part of scripts that frees the unique keys of jobs that cannot be read: see ../unique-keys.ts. They define what
 * `restLua` has before it.
 */
import { at } from './lua.ts'

export const uniqueKeysLua = `
local ESCAPES = { ['"'] = '\\\\"', ['\\\\'] = '\\\\\\\\', ['\\b'] = '\\\\b', ['\\f'] = '\\\\f', ['\\n'] = '\\\\n', ['\\r'] = '\\\\r', ['\\t'] = '\\\\t' }
-- A text as JSON, letter by letter as the processes write it.
local function jsonText(text)
  local function escape(c) return ESCAPES[c] or string.format('\\\\u%04x', c:byte()) end
  return '"' .. text:gsub('[%z\\1-\\31"\\\\]', escape) .. '"'
end
local function textOfRow(text) return (text:gsub('\\1([01])', { ['0'] = '\\0', ['1'] = '\\1' })) end

-- The name of the unique key of a type.
local function nameOfKey(type, key) return '[' .. jsonText(textOfRow(type)) .. ',' .. jsonText(key) .. ']' end

local function isLive(id)
  local text = call('HGET', JOBS, id)
  local row = text and parse(text)
  return row and INDEX[row[${at.state}]] ~= 'ended'
end

-- A job that has waited for the end of another one is due at its own time.
local function release(id)
  local text = call('HGET', JOBS, id)
  local row = text and parse(text)
  if not row or INDEX[row[${at.state}]] ~= 'due' or row[${at.wakeAt}] ~= '' then return end
  local rest = restOf(row) or {}
  index(id, row, -1)
  row[${at.rev}], row[${at.wakeAt}] = following(row[${at.rev}]), int(tonumber(rest.dueAfter) or nowMs)
  index(id, row, 1)
  writeRows({ id, rowText(row) })
end

-- Frees what a job has of a key: the key, if it holds it, and the job that waits for its end.
local function freeKey(name, id)
  local holder = call('HGET', P .. 'holders', name)
  if holder == id then call('HDEL', P .. 'holders', name) end
  if call('HGET', P .. 'predecessors', name) ~= id then return end
  call('HDEL', P .. 'predecessors', name)
  if holder then release(holder) end
end
`
