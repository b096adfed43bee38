/** Events: what the store has written of the ends of runs. Nothing is made of jobs that nobody listens to. */
import type { OperatorFunction } from 'rxjs'
import { copyPayload } from '../core/payload.ts'
import type { AnyJobEvent } from '../core/record.ts'
import type { Settlement } from '../core/settlement.ts'
import type { Logger } from '../core/logger.ts'
import type { SettleAnswer } from '../store.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Run } from './attempt.ts'
import { withMeta } from './event-meta.ts'
import type { SettledRuns } from './settle-runs.ts'
import { stage } from './stage.ts'

export interface ToEventsOptions {
  readonly worker: string
  readonly hub: Pick<EventHub, 'hasListener' | 'hasListeners'>
  readonly logger: Logger
}

/** From written ends to their events, in the order of the ends. */
export const toEvents = ({ worker, hub, logger }: ToEventsOptions): OperatorFunction<SettledRuns, AnyJobEvent> =>
  stage(logger, (out) => ({ runs, settlements, answers }) => {
    if (!hub.hasListeners) return
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as Run
      const answer = answers[i] as SettleAnswer
      if (answer.outcome === 'failed' || answer.outcome === 'lost') continue
      if (answer.woken !== undefined) out.next(answer.woken)
      if (hub.hasListener(run.claimed.id)) out.next(eventOf(run, settlements[i] as Settlement, answer, worker))
      if (answer.successor !== undefined) out.next(answer.successor)
      if (answer.hook !== undefined) out.next(answer.hook)
    }
  })

function eventOf(run: Run, settlement: Settlement, answer: SettleAnswer, worker: string): AnyJobEvent {
  const { id, type, attempt } = run.claimed
  const reason = settlement.reason ?? (answer.to === 'cancelled' ? run.abortReason?.message : undefined)
  return {
    seq: answer.seq,
    at: answer.at,
    id,
    type,
    event: settlement.event,
    from: answer.from,
    to: answer.to,
    attempt,
    worker,
    ...(settlement.error !== undefined && { error: settlement.error }),
    ...(reason !== undefined && { reason }),
    ...withMeta(run.claimed),
    ...(settlement.output !== undefined && { value: copyPayload(settlement.output) }),
  }
}
