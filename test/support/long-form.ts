/** Some tests are shorter in `npm test`; `npm run proof -- --only tests` runs their long form. */
export const isLong = process.env['LONG'] === '1'

type Register = (name: string, run: () => Promise<void>) => unknown

/** Registers every n-th case; in the long form all of them. */
export function everyNth(n: number, register: Register): Register {
  let count = 0
  return (name, run) => (isLong || count++ % n === 0 ? register(name, run) : undefined)
}
