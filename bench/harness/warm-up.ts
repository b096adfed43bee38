/**
 * Nobody is measured cold. A process does the work again and again until it no longer gets faster, so that what a figure
 * tells is the work and not the compiler: code that is compiled, found wanting and compiled anew for a second queue of
 * the same process would else cost most those who have most of it.
 */

export const passesMin = 3
export const passesMax = 6
/** Two passes that follow each other are alike when they differ by less. */
export const alike = 0.05

/**
 * Calls `pass` until two passes that follow each other, neither of them the first, gave alike figures, or six times. The
 * second may be as slow as the first, because it finds what was compiled for the first wanting.
 * @param pass its cost; CPU time, where it can be had: it does not grow when others use the machine
 * @returns how often it was called
 */
export async function warmUp(pass: () => Promise<number>): Promise<number> {
  let last = Number.NaN
  for (let passes = 1; passes <= passesMax; passes++) {
    const cost = await pass()
    if (passes >= passesMin && Math.abs(cost - last) < last * alike) return passes
    last = cost
  }
  return passesMax
}

/** A line below a table: how many passes each took. */
export function warmUpNote(samples: Readonly<Record<string, readonly { readonly passes: number }[]>>): string {
  const each = Object.entries(samples).map(
    ([name, results]) => `${name} ${results.map(({ passes }) => passes).join(' ')}`,
  )
  return `passes to warm up, round by round: ${each.join(', ')}`
}
