/**
 * Ledgers: files of JSON lines in which processes write down what they do, when they do it. A line is with the
 * operating system when the call returns: a process that is killed loses nothing of what it has written.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** @returns appends an entry */
export function ledgerAt(path: string): (entry: object) => void {
  return (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`)
}

/** Its entries; none without a file. The last line of a process that was killed may be torn: it does not count. */
export function readLedger<Entry>(path: string): Entry[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Entry)
}
