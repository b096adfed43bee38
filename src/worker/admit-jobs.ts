/** Makes runs of claimed jobs: from here on cancels and heartbeats find them. */
import type { OperatorFunction } from 'rxjs'
import { counted } from '../core/counted.ts'
import type { JobDefinition } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Telemetry } from '../core/telemetry.ts'
import type { ClaimAnswer } from '../store.ts'
import type { EventHub } from '../client/event-hub.ts'
import { Run, type RunServices } from './attempt.ts'
import type { AnsweredClaim } from './claim-picks.ts'
import type { Claims } from './claims.ts'
import { withMeta } from './event-meta.ts'
import type { RateWaits } from './rate-waits.ts'
import type { Runs } from './runs.ts'
import { stage } from './stage.ts'

export interface AdmitJobsOptions {
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly services: RunServices
  readonly claims: Pick<Claims, 'admit' | 'endStarted'>
  readonly runs: Pick<Runs, 'add'>
  readonly rateWaits: Pick<RateWaits, 'wakeAt'>
  readonly worker: string
  readonly hub: Pick<EventHub, 'hasListener' | 'hasListeners' | 'emit'>
  readonly logger: Logger
}

/** From answered claims to runs, each of which may start when its turn has come. */
export function admitJobs(options: AdmitJobsOptions): OperatorFunction<readonly AnsweredClaim[], readonly Run[]> {
  const { jobs, services, claims, runs, rateWaits, logger } = options
  return stage(logger, (out) => (answered) => {
    for (const { claim, answer, lease } of answered) {
      claims.admit(claim, answer)
      if (answer.unreadable !== undefined) reportUnreadable(answer.unreadable, logger)
      for (const { type, reason, until } of answer.shortfalls) {
        if (reason === 'limited') rateWaits.wakeAt(type, until ?? 0)
      }
      const made = answer.jobs.map((claimed) => {
        const run = new Run(claimed, jobs.get(claimed.type) as JobDefinition, services, lease)
        run.abortReason = claim.refusal(claimed)
        runs.add(run)
        return run
      })
      out.next(made)
      if (services.telemetry !== null) countClaims(answer, services.telemetry)
      emitClaims(answer, options)
    }
    claims.endStarted()
  })
}

function countClaims({ jobs }: ClaimAnswer, telemetry: Telemetry): void {
  const counts = new Map<string, number>()
  for (const { type } of jobs) counts.set(type, (counts.get(type) ?? 0) + 1)
  for (const [type, count] of counts) telemetry.claimed(type, count)
}

function emitClaims({ jobs }: ClaimAnswer, { hub, worker }: AdmitJobsOptions): void {
  if (!hub.hasListeners) return
  for (const claimed of jobs) {
    const { id, type, seq, startedAt: at, attempt } = claimed
    if (!hub.hasListener(id)) continue
    const event = { seq, at, id, type, event: 'CLAIM', from: 'queued', to: 'running', attempt, worker } as const
    hub.emit({ ...event, ...withMeta(claimed) })
  }
}

function reportUnreadable(ids: readonly string[], logger: Logger): void {
  const error = new JobchartError(
    'STORE_CORRUPT',
    `${counted(ids.length, 'job')} cannot be read: ${ids.slice(0, 10).join(', ')}`,
    {
      hint: 'Something else has changed what is stored. They are set aside: `jobchart doctor` lists them, `jobchart discard ID` removes one.',
    },
  )
  logger.error('jobs cannot be read and do not run', { error, ids })
}
