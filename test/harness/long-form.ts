/**
 * The one switch between the short and the long form of everything that proves something by trying often: `LONG=1`.
 * Without it tests, `npm run mutants`, `npm run killpoints` and all the others try a part; `npm run proof` sets it.
 */
export const isLong = process.env['LONG'] === '1'

type Register = (name: string, run: () => Promise<void>) => unknown

/** Registers every n-th case; in the long form all of them. */
export function everyNth(n: number, register: Register): Register {
  let count = 0
  return (name, run) => (isLong || count++ % n === 0 ? register(name, run) : undefined)
}
