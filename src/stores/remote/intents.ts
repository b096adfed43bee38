/** Carries out what committed transactions of users have left: each call together with the removal of what it left. */
import { cancel } from '../../core/cancel.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import { JobchartError } from '../../core/errors.ts'
import { extend } from '../../core/extend.ts'
import { send } from '../../core/inbox.ts'
import { putSchedule } from '../../core/schedule.ts'
import { settle } from '../../core/settle.ts'
import { leaseOfIntents } from '../../core/tx-intent.ts'
import type { CarryOutAnswer, Lease, RefusedIntent, TxIntent, WrittenTransition } from '../../store.ts'
import type { RemoteDriver } from './driver.ts'
import type { Need } from './needs.ts'
import { insertRequest } from './operations.ts'
import { partMax } from './parts.ts'
import type { Transaction } from './transaction.ts'

/** The intents of one call, as they are kept. */
interface KeptIntents {
  /** 20 digits: the field of the small value. */
  readonly number: string
  readonly intents: readonly TxIntent[]
}

interface Outcome {
  readonly count: number
  readonly transitions: readonly WrittenTransition[]
  readonly refused: readonly RefusedIntent[]
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
    const kept = parsed.get(text) ?? (JSON.parse(text) as KeptIntents)
    parsed.set(text, kept)
    return kept
  }
  const operate = (each: Transaction): CarryOutAnswer => {
    const found = each.set.valuesOf('intents').slice(0, most).map(parse)
    const outcomes = each.each(
      found,
      (kept) => (remove(each, kept) ? carryOutCall(each, kept) : nothing),
      (error, kept) => (remove(each, kept) ? refusedBy(error, kept.intents) : nothing),
    )
    return {
      count: outcomes.reduce((sum, { count }) => sum + count, 0),
      transitions: outcomes.flatMap(({ transitions }) => transitions),
      refused: outcomes.flatMap(({ refused }) => refused),
      more: found.length === most,
    }
  }
  const need: Need = { kind: 'values', cells: 'intents', limit: most }
  return [operate, { needs: [need] }] as const
}

/** @returns was it still there? */
function remove(each: Transaction, { number, intents }: KeptIntents): boolean {
  if (each.cell('intents', number) === null) return false
  const lease = leaseOfIntents(intents)
  if (lease !== null) each.setCell('fences', `${lease.id} ${number}`, null)
  each.setCell('intents', number, null)
  return true
}

function carryOutCall(each: Transaction, { intents }: KeptIntents): Outcome {
  const transitions: WrittenTransition[] = []
  const refused: RefusedIntent[] = []
  for (const intent of intents) {
    const { error, ...done } = carryOutOne(each, intent)
    transitions.push(...done.transitions)
    if (error !== null) refused.push({ intent, error })
  }
  return { count: 1, transitions, refused }
}

interface Done {
  readonly transitions: readonly WrittenTransition[]
  readonly error: ErrorRecord | null
}

function carryOutOne(each: Transaction, intent: TxIntent): Done {
  switch (intent.kind) {
    case 'insert': {
      const answers = insertRequest(each, intent.request)
      const taken = answers.find(({ outcome }) => outcome === 'id-taken')
      const transitions = answers.flatMap(({ superseded }) => superseded ?? [])
      return { transitions, error: taken === undefined ? null : idTaken(taken.id) }
    }
    case 'send': {
      const { outcome, transition } = send(each.unit, intent.request)
      const isKept = outcome === 'kept' || outcome === 'duplicate' || outcome === 'resumed'
      return {
        transitions: transition === undefined ? [] : [transition],
        error: isKept ? null : notDelivered(intent.request.id, outcome),
      }
    }
    case 'cancel':
      return { transitions: cancel(each.unit, intent.request).transitions, error: null }
    case 'settle': {
      const { outcome } = settle(each.unit, intent.request)
      // The process of the run settles it again: it gets the same answer, and tells of it.
      return { transitions: [], error: outcome === 'settled' ? null : leaseLost(intent.request) }
    }
    case 'extend': {
      const { outcome } = extend(each.unit, intent.request, intent.leaseMs)
      return { transitions: [], error: outcome === 'lost' ? leaseLost(intent.request) : null }
    }
    case 'schedule':
      putSchedule(each, intent.request)
      return { transitions: [], error: null }
  }
}

const refusedBy = (error: ErrorRecord, intents: readonly TxIntent[]): Outcome => ({
  count: 1,
  transitions: [],
  refused: intents.map((intent) => ({ intent, error })),
})

const idTaken = (id: string): ErrorRecord =>
  recordError(
    new JobchartError('ID_TAKEN', `the id ${id} belongs to a job of another type`, {
      hint: 'Prefix ids with the type.',
    }),
  )

const leaseLost = ({ id, attempt }: Lease): ErrorRecord =>
  recordError(new JobchartError('LEASE_LOST', `the lease of attempt ${attempt} of job ${id} has ended`))

const notDelivered = (id: string, outcome: string): ErrorRecord =>
  recordError(new JobchartError('NOT_ACCEPTED', `the event was not delivered to job ${id}: ${outcome}`))
