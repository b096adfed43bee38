/**
 * What the world outside sees of the machines of a storm: each process writes down what it does there, when it does it.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `begin`, `end`: of a piece of work, by the id of its actor · `note`: an action of a machine, by the id of the
 * machine.
 */
export interface LedgerLine {
  readonly kind: 'begin' | 'end' | 'note'
  readonly key: string
  readonly what: string
  /** ms since the epoch. */
  readonly at: number
}

export type Ledger = (kind: LedgerLine['kind'], key: string, what: string) => void

/** Of processes that run nothing. */
export const noLedger: Ledger = () => {}

const folderOf = (folder: string): string => join(folder, 'ledger')

/**
 * The ledger of one process. A line is with the operating system when the call returns: who is killed loses nothing.
 */
export function ledgerFile(folder: string, name: string): Ledger {
  mkdirSync(folderOf(folder), { recursive: true })
  const path = join(folderOf(folder), `${name}.ndjson`)
  return (kind, key, what) => {
    const line: LedgerLine = { kind, key, what, at: Date.now() }
    appendFileSync(path, `${JSON.stringify(line)}\n`)
  }
}

/** The ledgers of all processes. Of one that was killed the last line may be torn. */
export function* readLedgers(folder: string): Generator<LedgerLine> {
  for (const name of readdirSync(folderOf(folder))) {
    const lines = readFileSync(join(folderOf(folder), name), 'utf8').split('\n')
    for (const line of lines.slice(0, -1)) yield JSON.parse(line) as LedgerLine
  }
}
