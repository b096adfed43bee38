/**
 * A process does the work repeatedly before it is measured, until it no longer gets faster, so that a figure is that of
 * the work and not of the compiler: code that is compiled, deoptimized and compiled again for a second queue of the
 * same process would otherwise cost most those contenders that have most code.
 */

export const passesMin = 3
export const passesMax = 6
/** Two passes that follow each other are alike when they differ by less. */
export const alike = 0.05

/**
 * Calls `pass` until two passes that follow each other, neither of them the first, gave alike figures, or six times.
 * The second may be as slow as the first, because code that was compiled for the first is deoptimized.
 * @param pass gives the figure that is compared: the CPU time where it is known, which does not grow when others use
 * the machine
 * @returns how often it was called
 */
export async function warmUp(pass: () => Promise<number>): Promise<number> {
  let last = Number.NaN
  for (let passes = 1; passes <= passesMax; passes++) {
    const figure = await pass()
    if (passes >= passesMin && Math.abs(figure - last) < last * alike) return passes
    last = figure
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
