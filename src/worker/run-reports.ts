/** Check-ins and logs of a run: emitted as events at once, written with the next report or the end of the run. */
import { invalidOption } from '../core/errors.ts'
import { caps } from '../core/caps.ts'
import type { AnyJobEvent } from '../core/record.ts'
import { copyPayload, toPayload, type Json } from '../core/payload.ts'
import { logFieldLimits, payloadLimits } from '../core/limits.ts'
import type { Store } from '../store.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Run, ContextServices } from './attempt.ts'
import { withMeta } from './event-meta.ts'
import type { WritesInTransactions } from './writes-in-transactions.ts'

const logCharsMax = 2_000

interface RunReportsOptions {
  readonly store: Store
  readonly worker: string
  readonly hub: EventHub
  readonly heartbeat: Heartbeat
  readonly inTransactions: WritesInTransactions
}

export function runReports(
  options: RunReportsOptions,
): Pick<ContextServices, 'checkin' | 'log' | 'saveStep' | 'refusal'> {
  const { store, worker, hub, heartbeat, inTransactions } = options
  const report = (run: Run, { value, ...reported }: Pick<AnyJobEvent, 'event' | 'at'> & { value: Json }): void => {
    if (run.ending !== null) return
    heartbeat.report(run)
    const { id, type, attempt, seq } = run.claimed
    const state = run.abortReason?.code === 'CANCELLED' ? 'cancelling' : 'running'
    if (!hub.hasListener(id)) return
    // A copy: what a subscriber does to it is not stored.
    const own = { ...reported, value: copyPayload(value) }
    hub.emit({ seq, id, type, attempt, worker, from: state, to: state, ...own, ...withMeta(run.claimed) })
  }
  return {
    checkin: (run, value) => {
      const at = store.now()
      run.checkin = {
        at,
        value: toPayload(value, 'INVALID_OUTPUT', payloadLimits, 'check-in of job', run.claimed.type),
      }
      report(run, { event: 'CHECKIN', at, value: run.checkin.value })
    },
    log: (run, text, fields) => {
      const at = store.now()
      if (typeof text !== 'string') throw invalidOption('message of ctx.log', 'text', text)
      const kept =
        fields === undefined
          ? {}
          : {
              fields: toPayload(fields, 'INVALID_OUTPUT', logFieldLimits, 'fields of ctx.log of job', run.claimed.type),
            }
      const message = text.slice(0, logCharsMax).toWellFormed()
      const lines = (run.logs ??= [])
      lines.push({ at, attempt: run.claimed.attempt, message, ...kept })
      if (lines.length > caps.logs) lines.shift()
      run.span?.log(message, fields)
      report(run, { event: 'LOG', at, value: { message, ...kept } })
    },
    async saveStep(run, name, result, tx) {
      if (tx !== null) return inTransactions.keepStep(run, tx, name, result)
      await heartbeat.saveStep(run, name, result)
      return null
    },
    refusal: (run) => heartbeat.refusal(run),
  }
}
