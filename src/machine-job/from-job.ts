/**
 * A job as an actor: any XState machine can invoke or spawn it, with onDone, onError and onSnapshot.
 *
 * The job's id is part of the actor's snapshot, so that an actor which is persisted and restored finds its job again
 * instead of enqueueing a second one.
 */
import { nanoid } from 'nanoid'
import type {
  ActorLogic,
  ActorSystem,
  ActorSystemInfo,
  AnyActorRef,
  AnyStateMachine,
  EventObject,
  Snapshot,
} from 'xstate'
import type { CancelOptions, EnqueueOptions } from '../core/call-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import { JobCancelledError, JobchartError, JobDeadError } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import { reviveError } from '../core/failure.ts'
import type { InboxMessage } from '../core/machine-record.ts'
import type { Json } from '../core/payload.ts'
import { runnerOf } from './job-actors.ts'
import { invokesOf, isMachine, namedActors, nodesOf } from './machines.ts'

/** What the actor needs of a runtime or client. */
export interface JobEnqueuer {
  enqueue(job: JobDefinition, input: unknown, options?: EnqueueOptions): Promise<JobHandle>
  cancel(id: string, options?: CancelOptions): Promise<unknown>
}

export interface JobActorContext {
  readonly id: string
  /** The job's last check-in. */
  readonly checkin: Json | undefined
}

export type JobActorSnapshot<Input, Output> = Snapshot<Output> & {
  readonly input: Input
  readonly context: JobActorContext
  /** The type of the job. */
  readonly invokes: string
}

type JobActorEvent =
  | { readonly type: 'jobchart.checkin'; readonly value: Json | undefined }
  | { readonly type: 'jobchart.done'; readonly output: unknown }
  | { readonly type: 'jobchart.failed'; readonly error: unknown }
  | { readonly type: 'xstate.stop' }

export type JobActorLogic<Input, Output> = ActorLogic<
  JobActorSnapshot<Input, Output>,
  EventObject,
  Input,
  ActorSystem<ActorSystemInfo>
>

/**
 * Actor logic that enqueues a job and lives as long as it: done with its output, error with JobDeadError or
 * JobCancelledError, each check-in a new snapshot (`snapshot.context.checkin`). Stopping the actor (its state is left)
 * cancels the job.
 *
 * @param runtime the runtime or client that enqueues it. Left out in a machine that is a job itself (`defineJob`): there
 *   the job is its child, found again after a crash, cancelled with it, and waiting for it takes no slot
 * @param options for the enqueue; the id is the actor's own
 * @returns logic for `setup({ actors })`, `invoke: { src }`, `provide` or `createActor`; its `input` is the job's
 * @example
 * const machine = setup({ actors: { sendEmail: fromJob(sendEmail, runtime) } }).createMachine({
 *   invoke: { src: 'sendEmail', input: { to: 'ada@example.com' }, onDone: 'sent', onError: 'failed' },
 *   …
 * })
 */
export function fromJob<Input, Output>(
  job: JobDefinition<Input, Output>,
  runtime?: JobEnqueuer,
  options: Omit<EnqueueOptions, 'id'> = {},
): JobActorLogic<Input, Output> {
  return new JobLogic(job, runtime, options)
}

class JobLogic<Input, Output> implements JobActorLogic<Input, Output> {
  readonly job: JobDefinition<Input, Output>
  private readonly runtime: JobEnqueuer | undefined
  private readonly options: EnqueueOptions

  constructor(job: JobDefinition<Input, Output>, runtime: JobEnqueuer | undefined, options: EnqueueOptions) {
    this.job = job
    this.runtime = runtime
    this.options = options
  }

  readonly transition: JobActorLogic<Input, Output>['transition'] = (snapshot, event, { self }) => {
    if (snapshot.status !== 'active') return snapshot
    return after(snapshot, event as JobActorEvent, () => {
      const { id } = snapshot.context
      const hosting = runnerOf(self)
      if (hosting !== null) hosting.jobs.stopped(id)
      else this.runtime?.cancel(id, { reason: 'its actor was stopped' }).catch(ignoreAfterStop)
    })
  }

  readonly getInitialSnapshot: JobActorLogic<Input, Output>['getInitialSnapshot'] = (_scope, input) => {
    const context = { id: nanoid(), checkin: undefined }
    return { status: 'active', output: undefined, error: undefined, input, context, invokes: this.job.type }
  }

  readonly getPersistedSnapshot: JobActorLogic<Input, Output>['getPersistedSnapshot'] = (snapshot) => snapshot

  readonly restoreSnapshot = (snapshot: Snapshot<unknown>): JobActorSnapshot<Input, Output> =>
    snapshot as JobActorSnapshot<Input, Output>

  readonly start: NonNullable<JobActorLogic<Input, Output>['start']> = ({ status, input, context }, { self }) => {
    if (status !== 'active') return
    const { job, runtime } = this
    const options = { ...this.options, id: context.id }
    const hosting = runnerOf(self)
    if (hosting !== null) return hosting.jobs.begun(self, job, input, options, wantsCheckins(self))
    const tell = (event: JobActorEvent): void => {
      // The end of a job whose actor was stopped is nobody's news.
      if (self.getSnapshot().status === 'active') self.send(event)
    }
    if (runtime === undefined) return tell({ type: 'jobchart.failed', error: noRuntime(job) })
    runtime
      .enqueue(job, input, options)
      .then((handle) => {
        const checkins = handle.events$.subscribe((event) => {
          if (event.event === 'CHECKIN') tell({ type: 'jobchart.checkin', value: event.value })
        })
        return handle.result().finally(() => checkins.unsubscribe())
      })
      .then(
        (output) => tell({ type: 'jobchart.done', output }),
        (error: unknown) => tell({ type: 'jobchart.failed', error }),
      )
  }
}

/** The jobs that the actors of a machine enqueue, and those of the machines that it names. */
export function invokedJobs(machine: AnyStateMachine, seen = new Set<AnyStateMachine>()): JobDefinition[] {
  if (seen.has(machine)) return []
  seen.add(machine)
  const inline = nodesOf(machine).flatMap((node) => invokesOf(node).map(({ src }) => src))
  return [...inline, ...namedActors(machine).map(([, logic]) => logic)].flatMap((logic) => {
    if (logic instanceof JobLogic) return [logic.job as JobDefinition]
    return isMachine(logic) ? invokedJobs(logic, seen) : []
  })
}

/** The job of an actor that `fromJob` has made; null of any other actor. */
export function jobOf(actor: AnyActorRef): JobActorContext | null {
  if (!('logic' in actor) || !(actor.logic instanceof JobLogic)) return null
  return (actor.getSnapshot() as JobActorSnapshot<unknown, unknown>).context
}

/** Does the machine that has invoked the actor listen to its snapshots (`onSnapshot`)? */
function wantsCheckins(actor: AnyActorRef): boolean {
  const { options } = actor as { readonly options?: { readonly syncSnapshot?: boolean } }
  return options?.syncSnapshot === true
}

/** Tells an actor how its job ended, or how far it is. */
export function notifyActor(
  actor: AnyActorRef,
  message: Extract<InboxMessage, { readonly kind: 'ended' | 'checkin' }>,
): void {
  if ((actor.getSnapshot() as Snapshot<unknown>).status !== 'active') return
  const event = eventOf(message)
  actor.send(event)
}

function eventOf(message: Extract<InboxMessage, { readonly kind: 'ended' | 'checkin' }>): JobActorEvent {
  if (message.kind === 'checkin') return { type: 'jobchart.checkin', value: message.value }
  const { child, state, output, error, reason } = message
  if (state === 'done') return { type: 'jobchart.done', output }
  if (state === 'cancelled') return { type: 'jobchart.failed', error: new JobCancelledError(child, reason) }
  return {
    type: 'jobchart.failed',
    error: new JobDeadError(child, `job ${child} is dead: ${error?.message ?? 'its worker died'}`, {
      cause: error === undefined ? undefined : reviveError(error),
    }),
  }
}

function after<Input, Output>(
  snapshot: JobActorSnapshot<Input, Output>,
  event: JobActorEvent,
  stopped: () => void,
): JobActorSnapshot<Input, Output> {
  switch (event.type) {
    case 'jobchart.checkin':
      return { ...snapshot, context: { ...snapshot.context, checkin: event.value } }
    case 'jobchart.done':
      return { ...snapshot, status: 'done', output: event.output as Output, error: undefined }
    case 'jobchart.failed':
      return { ...snapshot, status: 'error', error: event.error, output: undefined }
    case 'xstate.stop':
      stopped()
      return { ...snapshot, status: 'stopped', output: undefined, error: undefined }
    default:
      return snapshot
  }
}

/** Nobody listens to a stopped actor: a cancel that fails leaves the job to run to its end, as it would in a crash. */
const ignoreAfterStop = (): void => {}

const noRuntime = (job: JobDefinition): JobchartError =>
  new JobchartError('INVALID_OPTION', `fromJob(${job.type}) needs a runtime here`, {
    hint: 'Pass one: fromJob(job, runtime). Only a machine that is a job itself needs none.',
  })
