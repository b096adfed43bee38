/**
 * Sets jobs aside that a process could not read (`put`), or removes such jobs with all that is kept of them (`drop`). Answers the ids of
 * those that were there.
 */
import { at, fieldsOfLetters, type LuaScript } from './lua.ts'

export const asideScript: LuaScript = {
  definitions: `
local function put(id)
  local text = call('HGET', JOBS, id)
  if not text then return false end
  local row = parse(text)
  if row then
    index(id, row, -1)
    flush()
    if INDEX[row[${at.state}]] == 'lease' then left[row[${at.type}]] = true end
  end
  setAside(id, text)
  return true
end

local function drop(id)
  if call('HDEL', P .. 'aside', id) == 0 then return false end
  for _, field in pairs(${fieldsOfLetters}) do call('HDEL', P .. 'data:' .. field, id) end
  call('DEL', P .. 'steps:' .. id, P .. 'checkpoints:' .. id, P .. 'inbox:' .. id)
  return true
end
`,
  call: `
local act, found = ARGV[4] == 'put' and put or drop, {}
for i = 5, #ARGV do if act(ARGV[i]) then found[#found + 1] = ARGV[i] end end
`,
  answer: 'found',
}
