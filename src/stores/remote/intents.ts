/** Carries out what committed transactions of users have left: each call together with the removal of what it left. */
import { cancel } from '../../core/cancel.ts'
import { recordError, type ErrorRecord } from '../../core/failure.ts'
import { JobchartError } from '../../core/errors.ts'
import { send } from '../../core/inbox.ts'
import { putSchedule } from '../../core/schedule.ts'
import type { CarryOutAnswer, RefusedIntent, TxIntent, WrittenTransition } from '../../store.ts'
import type { RemoteDriver } from './driver.ts'
import { insertRequest } from './operations.ts'
import { partMax } from './parts.ts'
import type { Transaction } from './transaction.ts'

/** The intents of one call, as they are kept. */
export interface KeptIntents {
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

export async function carryOut(driver: RemoteDriver, limit: number): Promise<CarryOutAnswer> {
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
  return driver.write(operate, { needs: [{ kind: 'values', cells: 'intents', limit: most }] })
}

/** @returns was it still there? */
function remove(each: Transaction, { number }: KeptIntents): boolean {
  if (each.cell('intents', number) === null) return false
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

const notDelivered = (id: string, outcome: string): ErrorRecord =>
  recordError(new JobchartError('NOT_ACCEPTED', `the event was not delivered to job ${id}: ${outcome}`))
