/** Carries out what committed transactions of users have left: each call together with the removal of what it left. */
import { carryOutIntents, type CarriedOut } from '../../core/carry-out.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { areIntents } from '../../core/intent-checks.ts'
import { endsLease, leaseOfIntents } from '../../core/tx-intent.ts'
import type { CarryOutAnswer, TxIntent } from '../../store.ts'
import type { RemoteDriver } from './driver.ts'
import { isHeld } from './held.ts'
import { NotLoaded, type Need } from './needs.ts'
import { insertRequest } from './operations.ts'
import { partMax } from './parts.ts'
import type { Transaction } from './transaction.ts'

/** The intents of one call, as they are kept. */
interface KeptIntents {
  /** 20 digits: the field of the small value. */
  readonly number: string
  readonly intents: readonly TxIntent[]
}

interface Outcome extends CarriedOut {
  readonly count: number
}

/** Another process has carried them out. */
const nothing: Outcome = { count: 0, transitions: [], refused: [] }

export const carryOut = (driver: RemoteDriver, limit: number): Promise<CarryOutAnswer> =>
  driver.write(...carryingOut(limit))

/** Carries out calls as an operation, and what is known to be needed. */
export function carryingOut(limit: number) {
  const most = Math.min(limit, partMax)
  // An item keeps its identity while the operation is run again.
  const parsed = new Map<string, KeptIntents>()
  const parse = (text: string): KeptIntents => {
    const kept = parsed.get(text) ?? keptIntents(text)
    parsed.set(text, kept)
    return kept
  }
  /** Calls that change a job whose row somebody else holds. They keep their places, and others go on behind them. */
  const held = new Set<KeptIntents>()
  let loaded = most
  const operate = (each: Transaction): CarryOutAnswer => {
    const values = each.set.valuesOf('intents')
    for (const kept of parsed.values()) if (isHeld(each.set.failures.get(kept))) held.add(kept)
    if (values.length === loaded && loaded < most + held.size) {
      loaded = most + held.size
      throw new NotLoaded([needed(loaded)])
    }
    const found = values.slice(0, loaded).map(parse)
    const outcomes = each.each(
      found,
      (kept) => {
        if (!remove(each, kept)) return nothing
        return carryOutCall(each, kept)
      },
      (error, kept) => (!held.has(kept) && remove(each, kept) ? refusedBy(error, kept.intents) : nothing),
    )
    return {
      count: outcomes.reduce((sum, { count }) => sum + count, 0),
      transitions: outcomes.flatMap(({ transitions }) => transitions),
      refused: outcomes.flatMap(({ refused }) => refused),
      held: found.filter((kept) => held.has(kept)).flatMap(({ intents }) => intents),
      more: found.length - held.size >= most,
    }
  }
  return [operate, { needs: [needed(most)], leavesHeld: true }] as const
}

const needed = (limit: number): Need => ({ kind: 'values', cells: 'intents', limit })

/** Of what no call has left, only the row is removed. */
function keptIntents(text: string): KeptIntents {
  const { number, intents } = JSON.parse(text) as { readonly number: string; readonly intents: unknown }
  return { number, intents: areIntents(intents) ? intents : [] }
}

/** @returns was it still there? */
function remove(each: Transaction, { number, intents }: KeptIntents): boolean {
  if (each.cell('intents', number) === null) return false
  const lease = leaseOfIntents(intents)
  if (lease !== null) each.setCell('fences', `${lease.id} ${endsLease(intents) ? 'end' : number}`, null)
  each.setCell('intents', number, null)
  return true
}

const carryOutCall = (each: Transaction, { intents }: KeptIntents): Outcome => ({
  count: 1,
  ...carryOutIntents({ unit: each.unit, schedules: each, insert: (request) => insertRequest(each, request) }, intents),
})

const refusedBy = (error: ErrorRecord, intents: readonly TxIntent[]): Outcome => ({
  count: 1,
  transitions: [],
  refused: intents.map((intent) => ({ intent, error })),
})
