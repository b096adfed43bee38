/** Carries out what transactions of the user have left, within transactions of the store. */
import { carryOutIntents } from '../../core/carry-out.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { areIntents } from '../../core/intent-checks.ts'
import type { TxIntent } from '../../core/tx-intent.ts'
import type { CarryOutAnswer, RefusedIntent } from '../../store.ts'
import { insertPacked, packRequest } from './insert.ts'
import type { JobFile } from './job-file.ts'

/** Calls that one transaction carries out. */
export const carryOutMax = 250

/** How long it is known that a call was carried out by another process than that which has made it, ms. */
const knownMs = 3_600_000

/** @param number of the call, among those of the store */
export const receiptOf = (storeId: string, number: number): string => `${storeId}.${number}`
const isReceiptOf = (storeId: string, receipt: string): boolean => receipt.startsWith(`${storeId}.`)

interface KeptIntents {
  readonly number: number
  readonly receipt: string
  readonly text: string
}

/** Carries out the first calls, `carryOutMax` at most, together with the removal of their rows. */
export function carryOutFirst(file: JobFile, storeId: string): void {
  const found = file.sql
    .all('intents', carryOutMax)
    .map(([number, receipt, text]): KeptIntents => ({ number, receipt, text }))
  if (found.length === 0) return
  const done = file.each(
    found,
    (kept) => {
      const { transitions, refused } = carryOutIntents(
        {
          unit: file.unit,
          schedules: file.schedules,
          insert: (request) => insertPacked(file.unit, packRequest(request)),
        },
        intentsOf(kept.text),
      )
      remove(file, storeId, kept, refused)
      return transitions
    },
    (error, kept) => {
      remove(file, storeId, kept, refusedBy(error, kept.text))
      return []
    },
  )
  file.carriedOut.add({ count: found.length, transitions: done.flat() })
}

function remove(
  file: JobFile,
  storeId: string,
  { number, receipt }: KeptIntents,
  refused: readonly RefusedIntent[],
): void {
  file.sql.run('removeIntents', number)
  if (isReceiptOf(storeId, receipt) && refused.length === 0) return
  file.sql.run('addCarriedOut', receipt, file.now, refused.length === 0 ? null : JSON.stringify(refused))
}

const refusedBy = (error: ErrorRecord, text: string): RefusedIntent[] =>
  intentsOf(text).map((intent) => ({ intent, error }))

/** @returns none if something else has written the row */
function intentsOf(text: string): readonly TxIntent[] {
  try {
    const intents: unknown = JSON.parse(text)
    return areIntents(intents) ? intents : []
  } catch {
    return []
  }
}

/** What was carried out by this store, and what was refused by any, since it was asked last. */
export function carryOutAnswer(file: JobFile, limit: number): CarryOutAnswer {
  const refusals = file.sql.all('refusals', limit)
  if (refusals.length > 0) file.sql.run('forgetRefusals', limit)
  file.sql.run('forgetCarriedOut', file.now - knownMs)
  const { count, transitions } = file.carriedOut.take()
  const refused = refusals.flatMap(([text]) => JSON.parse(text) as RefusedIntent[])
  return { count, transitions, refused, held: [], more: refusals.length === limit }
}
