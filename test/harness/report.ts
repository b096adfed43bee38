/** What a proof reports: promises with how often they were broken, figures, evidence, and the line that says it all. */

/** A promise that was found broken, with its evidence. */
export interface Broken {
  readonly promise: string
  readonly message: string
  readonly evidence: readonly string[]
}

/** A promise, what it says, and how often it was broken. */
export type PromiseRow = readonly [promise: string, says: string, broken: number]

export interface Report {
  readonly promises?: readonly PromiseRow[]
  /** Lines about what was done. */
  readonly figures: readonly string[]
  readonly broken: readonly Broken[]
  readonly seed: number
  /** Where the evidence is kept; null: nowhere. */
  readonly folder?: string | null
}

/** Of each promise; the others are counted. */
const shownMax = 3
const evidenceMax = 25

/** Rows of promises, each with how often it occurs in what was found broken. */
export const promiseRows = (promises: Readonly<Record<string, string>>, broken: readonly Broken[]): PromiseRow[] =>
  Object.entries(promises).map(([name, says]) => {
    return [name, says, broken.filter(({ promise }) => promise === name).length] as const
  })

export function reportText({ promises = [], figures, broken, seed, folder = null }: Report): string {
  const width = Math.max(0, ...promises.map(([, says]) => says.length))
  const rows = promises.map(([name, says, times]) => {
    return `  ${name.padEnd(7)} ${says.padEnd(width)}  ${times === 0 ? 'holds' : `BROKEN ${times}×`}`
  })
  const holds = broken.length === 0 && promises.every(([, , times]) => times === 0)
  const kept = folder === null ? '' : `; histories, store and logs are in ${folder}`
  const end = holds ? `Every promise was kept. Seed ${seed}.` : `PROMISES WERE BROKEN. Seed ${seed}${kept}`
  const parts = [rows, figures.map((line) => `  ${line}`), shown(broken), [end]]
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n')
}

function shown(broken: readonly Broken[]): string[] {
  return [...Map.groupBy(broken, ({ promise }) => promise).values()].flatMap((ofPromise) => {
    const left = ofPromise.length - shownMax
    return [
      ...ofPromise
        .slice(0, shownMax)
        .flatMap(({ promise, message, evidence }) => [
          `${promise}: ${message}`,
          ...evidence.slice(0, evidenceMax).map((each) => `    ${each}`),
        ]),
      ...(left > 0 ? [`${ofPromise[0]?.promise}: ${left} more`] : []),
    ]
  })
}

/** The median, the value below which 99 of 100 are, and the last one. */
export type Spread = readonly [median: number, p99: number, max: number]

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? 0
  return [at(0.5), at(0.99), at(1)]
}

export const spreadText = ([median, p99, max]: Spread): string =>
  `${median} ms (median), ${p99} ms (99 of 100), ${max} ms (the last)`
