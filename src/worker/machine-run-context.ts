/** Implements the context of a machine's run with the parts of the worker: commits, steps, messages and child jobs. */
import type { Random } from '../core/clock.ts'
import type { JobDefinition, ChildEnd, MachineRunContext } from '../core/definition.ts'
import { inheritFrom } from '../core/inherit.ts'
import type { Inspect } from '../core/inspection.ts'
import type { InboxEntry, NewCheckpoint, Parent } from '../core/machine-record.ts'
import type { Json } from '../core/payload.ts'
import type { JobRecord } from '../core/record.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { Store } from '../store.ts'
import { refusedBy } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { InboxChecks } from './inbox-checks.ts'
import type { Run } from './attempt.ts'
import { withMeta } from './event-meta.ts'
import type { Timers } from '../client/timers.ts'

export interface MachineRunContextOptions {
  readonly store: Store
  readonly worker: string
  readonly hub: EventHub
  readonly timers: Timers
  readonly heartbeat: Heartbeat
  readonly checkpoints: Checkpoints
  readonly inboxChecks: InboxChecks
  /** Enqueues a child; gives its record if it was there before. */
  readonly enqueueChild: (
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    parent: Parent,
  ) => Promise<JobRecord | null>
  readonly cancel: MachineRunContext['cancelChild']
  readonly random: Random
  readonly inspect: Inspect | null
  readonly log: (run: Run, message: string) => void
}

export function machineRunContext(run: Run, input: unknown, options: MachineRunContextOptions): MachineRunContext {
  const { store, timers, heartbeat, inboxChecks, enqueueChild, cancel, random, inspect, log } = options
  const { id, type, generation, checkpoint, inbox, steps } = run.claimed
  const inherit = inheritFrom(run.claimed)
  return {
    id,
    type,
    generation,
    input,
    checkpoint,
    inbox,
    hasFailed: () => run.claimed.record().errors.length > 0,
    onAbort: (listener) => run.onAbort(listener),
    logger: run.services.logger,
    now: () => store.now(),
    after: (delayMs, go) => timers.after(delayMs, go),
    onMessages: (listener) => {
      run.mailbox = { after: inbox.at(-1)?.number ?? 0, listener }
      inboxChecks.listens(run)
    },
    commit: (next) => run.tracedPart('checkpoint', next.note, () => commit(run, next, options)),
    steps,
    saveStep: (name, result, tx) => run.services.saveStep(run, name, result, tx),
    refusal: () => heartbeat.refusal(run),
    random,
    log: (message) => log(run, message),
    emitted: (event) => emitted(run, event, options),
    inspect,
    traced: (kind, name, work) => run.tracedPart(kind, name, work),
    enqueueChild: async (job, childInput, enqueueOptions, checkins) => {
      const send = (): Promise<JobRecord | null> =>
        enqueueChild(job, childInput, inherit(enqueueOptions), { id, checkins })
      const record = await run.traced(send)
      return record === null ? null : endOf(record)
    },
    cancelChild: cancel,
  }
}

/** Writes a checkpoint. Its number and the token make the write idempotent: it may be repeated. */
async function commit(
  run: Run,
  checkpoint: NewCheckpoint,
  options: MachineRunContextOptions,
): Promise<readonly InboxEntry[]> {
  const { store, heartbeat, checkpoints, inboxChecks, hub, worker } = options
  const { id, type, attempt, token } = run.claimed
  const request = { id, attempt, token, checkpoint }
  const answer = await heartbeat.writeUntilAnswered(run, () => checkpoints.write(request, run))
  if (answer.outcome === 'lost') throw heartbeat.leaseRefused(run)
  if (answer.outcome === 'failed') throw refusedBy(store.name, `a checkpoint of job ${id}`, answer.error)
  inboxChecks.answered(run)
  run.maxAttempts = answer.maxAttempts
  if (answer.outcome === 'cancelling') heartbeat.cancelling(run, answer)
  if (hub.hasListener(id)) {
    const state = answer.outcome === 'kept' ? 'running' : 'cancelling'
    const { seq, at } = answer
    hub.emit({
      seq,
      at,
      id,
      type,
      event: 'CHECKPOINT',
      from: state,
      to: state,
      attempt,
      worker,
      reason: checkpoint.note,
      ...withMeta(run.claimed),
    })
  }
  return answer.inbox
}

function emitted(run: Run, value: Json, { hub, store, worker }: MachineRunContextOptions): void {
  const { id, type, seq, attempt } = run.claimed
  if (!hub.hasListener(id)) return
  const event = {
    seq,
    at: store.now(),
    id,
    type,
    event: 'EMIT',
    from: 'running',
    to: 'running',
    attempt,
    worker,
  } as const
  hub.emit({ ...event, value, ...withMeta(run.claimed) })
}

/** null if the job has not ended. */
function endOf({ id, state, output, error, cancelReason }: JobRecord): ChildEnd | null {
  if (state !== 'done' && state !== 'dead' && state !== 'cancelled') return null
  return {
    child: id,
    state,
    ...(output !== undefined && { output }),
    ...(error !== null && state === 'dead' && { error }),
    ...(cancelReason !== null && { reason: cancelReason }),
  }
}
