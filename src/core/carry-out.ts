/** Carries out what a call within a transaction of a user has left. The caller removes it in the same commit. */
import { cancel } from './cancel.ts'
import { JobchartError } from './errors.ts'
import { extend } from './extend.ts'
import { recordError, type ErrorRecord } from './failure.ts'
import { send } from './inbox.ts'
import { putSchedule, type ScheduleUnit } from './schedule.ts'
import { settle } from './settle.ts'
import type { RefusedIntent, TxIntent } from './tx-intent.ts'
import type { Unit } from './unit.ts'
import type { InsertAnswer, InsertRequest, Lease, WrittenTransition } from './values.ts'

interface CarryOutTerms {
  readonly unit: Unit
  readonly schedules: ScheduleUnit & { removeSchedule(name: string): boolean }
  readonly insert: (request: InsertRequest) => readonly InsertAnswer[]
}

/** What came of the intents of one call. */
export interface CarriedOut {
  /** The transitions of other jobs than those that were inserted. */
  readonly transitions: readonly WrittenTransition[]
  readonly refused: readonly RefusedIntent[]
}

export function carryOutIntents(terms: CarryOutTerms, intents: readonly TxIntent[]): CarriedOut {
  const transitions: WrittenTransition[] = []
  const refused: RefusedIntent[] = []
  for (const intent of intents) {
    const { error, ...done } = carryOutOne(terms, intent)
    transitions.push(...done.transitions)
    if (error !== null) refused.push({ intent, error })
  }
  return { transitions, refused }
}

interface Done {
  readonly transitions: readonly WrittenTransition[]
  readonly error: ErrorRecord | null
}

function carryOutOne({ unit, schedules, insert }: CarryOutTerms, intent: TxIntent): Done {
  switch (intent.kind) {
    case 'insert': {
      const answers = insert(intent.request)
      const taken = answers.find(({ outcome }) => outcome === 'id-taken')
      const transitions = answers.flatMap(({ superseded }) => superseded ?? [])
      return { transitions, error: taken === undefined ? null : idTaken(taken.id) }
    }
    case 'send': {
      const { outcome, transition } = send(unit, intent.request)
      const isKept = outcome === 'kept' || outcome === 'duplicate' || outcome === 'resumed'
      return {
        transitions: transition === undefined ? [] : [transition],
        error: isKept ? null : notDelivered(intent.request.id, outcome),
      }
    }
    case 'cancel':
      return { transitions: cancel(unit, intent.request).transitions, error: null }
    case 'settle': {
      const { outcome } = settle(unit, intent.request)
      // The process of the run settles it again: it gets the same answer, and tells of it.
      return { transitions: [], error: outcome === 'settled' ? null : leaseLost(intent.request) }
    }
    case 'extend': {
      const { outcome } = extend(unit, intent.request, intent.leaseMs)
      return { transitions: [], error: outcome === 'lost' ? leaseLost(intent.request) : null }
    }
    case 'schedule':
      putSchedule(schedules, intent.request)
      return { transitions: [], error: null }
    case 'unschedule':
      schedules.removeSchedule(intent.request.name)
      return { transitions: [], error: null }
  }
}

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
