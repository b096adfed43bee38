/** What storms have brought about by chance: one that has not is followed by another, for a calm proves little. */
const stormsMax = 3

/** For the test's timeout: one storm takes 15 s on a quiet machine, and each may wait for its processes. */
export const stormsMs = stormsMax * 100_000

/**
 * Lets storms of successive seeds rage until each of these figures was more than 0 in one of them.
 * @param rage gives the figures of the storm of a seed; it checks by itself what every storm must keep
 * @returns the figures that were 0 in all of them
 */
export async function stormUntilSeen<Figure extends string>(
  figures: readonly Figure[],
  rage: (seed: number) => Promise<{ readonly [figure in Figure]?: number }>,
): Promise<Figure[]> {
  let missing = [...figures]
  for (let seed = 1; seed <= stormsMax && missing.length > 0; seed++) {
    const seen = await rage(seed)
    missing = missing.filter((figure) => (seen[figure] ?? 0) === 0)
  }
  return missing
}
