/** When claims were made that count for a rate limit, by totals that grow with the time. */

/**
 * When the `nth` of at least as many claims was made, counted from the last one; null without claims. The totals grow
 * with the time: so it is found by halving, and the rows between are not read.
 * @param last the time of the last claims, and the total with them
 * @param after the claim was made after this time
 * @param totalUntil the total up to a time, if there are claims
 */
export function timeOfClaim(
  last: readonly [at: number, total: number] | undefined,
  nth: number,
  after: number,
  totalUntil: (time: number) => number | undefined,
): number | null {
  if (last === undefined) return null
  const before = last[1] - nth
  let [low, high] = [Math.min(after + 1, last[0]), last[0]]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if ((totalUntil(middle) ?? -Infinity) > before) high = middle
    else low = middle + 1
  }
  return high
}
