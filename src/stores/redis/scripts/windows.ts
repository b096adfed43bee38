/**
 * The part of the scripts that names the windows of rates: the claims of a type, or of a key, that are within the time
 * of the rate.
 */
export const windowsLua = `
local function rateWindow(type) return P .. 'rate:' .. type end
local function keyWindow(type, key) return P .. 'key-rate:' .. #type .. ':' .. type .. ':' .. key end
`
