/**
 * What the world outside sees of the machines of a storm: each process writes down what it does there, when it does it.
 */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ledgerAt, readLedger } from '../../harness/ledger.ts'

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

/** The ledger of one process. */
export function ledgerFile(folder: string, name: string): Ledger {
  mkdirSync(folderOf(folder), { recursive: true })
  const append = ledgerAt(join(folderOf(folder), `${name}.ndjson`))
  return (kind, key, what) => append({ kind, key, what, at: Date.now() } satisfies LedgerLine)
}

/** The ledgers of all processes. */
export function* readLedgers(folder: string): Generator<LedgerLine> {
  for (const name of readdirSync(folderOf(folder))) yield* readLedger<LedgerLine>(join(folderOf(folder), name))
}
