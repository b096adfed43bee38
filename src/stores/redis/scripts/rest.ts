/** The part of scripts that reads what stands in a row as JSON. */
import { tail } from './lua.ts'

export const restLua = `
local function decoded(text)
  local isRead, value = pcall(cjson.decode, text)
  return isRead and type(value) == 'table' and value or nil
end

-- What stands in a row as JSON; nil if it cannot be read.
local function restOf(row)
  local rest = row[${tail}]:match('^%Z*')
  return decoded(rest ~= '' and rest or '{}')
end
`
