/**
 * What is kept for the limits of a type stays for so long after its last use, ms, and at least for the time of its
 * rates.
 */
export const limitsKeptMs = 86_400_000

/**
 * The part of the scripts that names the windows of rates: the claims of a type, or of a key, that are within the time
 * of the rate.
 */
export const windowsLua = `
local function rateWindow(type) return P .. 'rate:' .. type end
local function keyWindow(type, key) return P .. 'key-rate:' .. #type .. ':' .. type .. ':' .. key end
`
