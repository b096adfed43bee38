/**
 * A job as an actor: any XState machine can invoke or spawn it, with onDone, onError and onSnapshot.
 *
 * The actor's snapshot holds the id of the job, so that a restored actor finds its job instead of enqueueing a second
 * one.
 */
import { nanoid } from 'nanoid'
import type { Unsubscribable } from 'rxjs'
import type {
  ActorLogic,
  ActorSystem,
  ActorSystemInfo,
  AnyActorRef,
  AnyStateMachine,
  EventObject,
  Snapshot,
} from 'xstate'
import { enqueueOptionsWithoutId, type CancelOptions, type EnqueueOptions } from '../core/call-options.ts'
import { syncFn } from '../core/checks.ts'
import type { ChildEnd, JobDefinition } from '../core/definition.ts'
import { invalidOption, JobCancelledError, JobchartError, JobDeadError } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import { reviveError } from '../core/failure.ts'
import type { InboxMessage } from '../core/machine-record.ts'
import type { Json } from '../core/payload.ts'
import { runnerOf } from './machine-run-services.ts'
import { invokesOf, isMachine, namedActors, nodesOf } from './machines.ts'
import { logicOf, reportsSnapshots } from './xstate-internals.ts'

/** The methods of a runtime or client that the actor calls. */
export interface JobEnqueuer {
  enqueue(job: JobDefinition, input: unknown, options?: EnqueueOptions): Promise<JobHandle>
  cancel(id: string, options?: CancelOptions): Promise<unknown>
}

interface JobActorContext {
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

/** Options of `fromJob`: those of an enqueue, without the id. */
export type FromJobOptions = Omit<EnqueueOptions, 'id' | 'tx'>

type OptionsOf<Input> = FromJobOptions | ((input: Input) => FromJobOptions)

type JobEndEvent =
  | { readonly type: 'jobchart.done'; readonly output: unknown }
  | { readonly type: 'jobchart.failed'; readonly error: unknown }

type JobActorEvent =
  | JobEndEvent
  | { readonly type: 'jobchart.checkin'; readonly value: Json | undefined }
  | { readonly type: 'xstate.stop' }

export type JobActorLogic<Input, Output> = ActorLogic<
  JobActorSnapshot<Input, Output>,
  EventObject,
  Input,
  ActorSystem<ActorSystemInfo>
>

/**
 * Actor logic that enqueues a job and ends with it: done with the job's output, or error with JobDeadError or
 * JobCancelledError. A check-in, in whichever process, is a new snapshot (`snapshot.context.checkin`). Stopping the
 * actor, as leaving its state does, cancels the job.
 *
 * @param runtime the runtime or client that enqueues the job. Leave it out in a machine job (`defineJob({ machine })`):
 * there
 *   the job is a child of the machine's job, is found again after a crash and cancelled with it; waiting for it takes
 *   no slot
 * @param options for the enqueue, or a function that makes them of the input: synchronous, and called for each enqueue.
 * If it throws, the
 *   actor fails with INVALID_INPUT, as by a refused input. The actor chooses the id. A child inherits `meta`, tags and
 *   priority of its parent; own tags and an own priority replace them, and `meta` is merged by member
 * @returns logic for `setup({ actors })`, `invoke: { src }`, `provide` or `createActor`; its `input` is the job's
 * @example
 * const machine = setup({ actors: { sendEmail: fromJob(sendEmail, runtime) } }).createMachine({
 *   invoke: { src: 'sendEmail', input: { to: 'ada@example.com' }, onDone: 'sent', onError: 'failed' },
 *   …
 * })
 * @example fromJob(render, undefined, ({ page }) => ({ tags: [`page:${page}`], priority: page === 1 ? 10 : 0 }))
 * @throws JobchartError INVALID_OPTION if `job` is no definition, or `options` an async function
 */
export function fromJob<Input, Output>(
  job: JobDefinition<Input, Output>,
  runtime?: JobEnqueuer,
  options: OptionsOf<NoInfer<Input>> = {},
): JobActorLogic<Input, Output> {
  if (typeof job?.type !== 'string') {
    const hint = 'Pass the definition first, then the runtime: fromJob(sendEmail, runtime).'
    throw invalidOption('job', 'a job definition made by defineJob', job, hint)
  }
  if (typeof options === 'function') syncFn()(options, 'options of fromJob')
  return new JobLogic(job, runtime, options)
}

class JobLogic<Input, Output> implements JobActorLogic<Input, Output> {
  readonly job: JobDefinition<Input, Output>
  private readonly runtime: JobEnqueuer | undefined
  private readonly options: OptionsOf<Input>

  constructor(job: JobDefinition<Input, Output>, runtime: JobEnqueuer | undefined, options: OptionsOf<Input>) {
    this.job = job
    this.runtime = runtime
    this.options = options
  }

  private optionsFor(input: Input): FromJobOptions {
    const { job, options } = this
    return typeof options === 'function' ? optionsOf(job, options, input) : options
  }

  readonly transition: JobActorLogic<Input, Output>['transition'] = (snapshot, event, { self }) => {
    if (snapshot.status !== 'active') return snapshot
    return nextSnapshot(snapshot, event as JobActorEvent, () => {
      const { id } = snapshot.context
      const services = runnerOf(self)
      if (services !== null) services.jobs.actorStopped(id)
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
    const { id } = context
    const options = (): EnqueueOptions => ({ ...this.optionsFor(input), id })
    const services = runnerOf(self)
    if (services !== null) {
      return services.jobs.actorStarted(self, { id, job, input, options, checkins: reportsSnapshots(self) })
    }
    const notify = (event: JobActorEvent): void => {
      // A stopped actor ignores the end of its job.
      if (self.getSnapshot().status === 'active') self.send(event)
    }
    if (runtime === undefined) return notify({ type: 'jobchart.failed', error: noRuntime(job) })
    new Promise<JobHandle>((resolve) => resolve(runtime.enqueue(job, input, options())))
      .then((handle) => {
        const checkins = checkinsOf(handle, (value) => notify({ type: 'jobchart.checkin', value }))
        return handle.result().finally(() => checkins.unsubscribe())
      })
      .then(
        (output) => notify({ type: 'jobchart.done', output }),
        (error: unknown) => notify({ type: 'jobchart.failed', error }),
      )
  }
}

/** @throws JobchartError INVALID_INPUT if the function throws; INVALID_OPTION if it gives no options */
function optionsOf<Input>(job: JobDefinition, make: (input: Input) => FromJobOptions, input: Input): FromJobOptions {
  let options: FromJobOptions
  try {
    options = make(input)
  } catch (error) {
    throw new JobchartError('INVALID_INPUT', `the options of fromJob(${job.type}) threw for this input`, {
      hint: 'See `cause`. The function is called for every enqueue.',
      cause: error,
    })
  }
  return enqueueOptionsWithoutId(options, `options of fromJob(${job.type})`)
}

/** Calls back with each check-in of this process at once, and with those that other processes have stored. */
function checkinsOf(handle: JobHandle, checkedIn: (value: Json | undefined) => void): Unsubscribable {
  let lastAt = -Infinity
  // If the job cannot be read, the actor ends by the result.
  const error = (): void => {}
  const subscription = handle.events$.subscribe({
    next: ({ event, at, value }) => {
      if (event !== 'CHECKIN') return
      lastAt = Math.max(lastAt, at)
      checkedIn(value)
    },
    error,
  })
  subscription.add(
    handle.snapshot$.subscribe({
      next: ({ checkin }) => {
        if (checkin === null || checkin.at <= lastAt) return
        lastAt = checkin.at
        checkedIn(checkin.value)
      },
      error,
    }),
  )
  return subscription
}

/** The jobs that actors of the machine enqueue, and those of the machines among its actors. */
export function invokedJobs(machine: AnyStateMachine, seen = new Set<AnyStateMachine>()): JobDefinition[] {
  if (seen.has(machine)) return []
  seen.add(machine)
  const inline = nodesOf(machine).flatMap((node) => invokesOf(node).map(({ src }) => src))
  return [...inline, ...namedActors(machine).map(([, logic]) => logic)].flatMap((logic) => {
    if (logic instanceof JobLogic) return [logic.job as JobDefinition]
    return isMachine(logic) ? invokedJobs(logic, seen) : []
  })
}

export const isJobLogic = (logic: unknown): boolean => logic instanceof JobLogic

/** The job of an actor of `fromJob`; null for any other actor. */
export function jobOf(actor: AnyActorRef): JobActorContext | null {
  if (!isJobLogic(logicOf(actor))) return null
  return (actor.getSnapshot() as JobActorSnapshot<unknown, unknown>).context
}

/** Sends the end or a check-in of a job to its actor. */
export function notifyActor(
  actor: AnyActorRef,
  message: Extract<InboxMessage, { readonly kind: 'ended' | 'checkin' }>,
): void {
  if ((actor.getSnapshot() as Snapshot<unknown>).status !== 'active') return
  actor.send(message.kind === 'checkin' ? { type: 'jobchart.checkin', value: message.value } : endEventOf(message))
}

/** What the actor of a job is told of its end. */
export function endEventOf({ child, state, output, error, reason }: ChildEnd): JobEndEvent {
  if (state === 'done') return { type: 'jobchart.done', output }
  if (state === 'cancelled') return { type: 'jobchart.failed', error: new JobCancelledError(child, reason) }
  return {
    type: 'jobchart.failed',
    error: new JobDeadError(child, `job ${child} is dead: ${error?.message ?? 'its worker died'}`, {
      cause: error === undefined ? undefined : reviveError(error),
    }),
  }
}

function nextSnapshot<Input, Output>(
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

/** A stopped actor cannot report an error: if the cancel fails, the job runs to its end, as after a crash. */
const ignoreAfterStop = (): void => {}

const noRuntime = (job: JobDefinition): JobchartError =>
  new JobchartError('INVALID_OPTION', `fromJob(${job.type}) needs a runtime outside of a machine job`, {
    hint: 'Pass one: fromJob(job, runtime).',
  })
