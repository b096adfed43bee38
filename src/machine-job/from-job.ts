/**
 * A job as an actor: any XState machine can invoke or spawn it, with onDone, onError and onSnapshot.
 *
 * The job's id is part of the actor's snapshot, so that an actor which is persisted and restored finds its job again
 * instead of enqueueing a second one.
 */
import { nanoid } from 'nanoid'
import type { ActorLogic, ActorSystem, ActorSystemInfo, EventObject, Snapshot } from 'xstate'
import type { JobDefinition } from '../define-job.ts'
import { JobchartError } from '../errors.ts'
import type { JobHandle } from '../handle.ts'
import type { Json } from '../job/payload.ts'
import type { CancelOptions, EnqueueOptions } from '../call-options.ts'

/** What the actor needs of a runtime or client. */
export interface JobHost {
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
 * @param runtime the runtime or client that enqueues it
 * @param options for the enqueue; the id is the actor's own
 * @returns logic for `setup({ actors })`, `provide` or `createActor`; its `input` is the job's
 * @example
 * const machine = setup({ actors: { sendEmail: fromJob(sendEmail, runtime) } }).createMachine({
 *   invoke: { src: 'sendEmail', input: { to: 'ada@example.com' }, onDone: 'sent', onError: 'failed' },
 *   …
 * })
 */
export function fromJob<Input, Output>(
  job: JobDefinition<Input, Output>,
  runtime?: JobHost,
  options: Omit<EnqueueOptions, 'id'> = {},
): JobActorLogic<Input, Output> {
  return {
    transition(snapshot, event) {
      if (snapshot.status !== 'active') return snapshot
      return after(snapshot, event as JobActorEvent, () => {
        runtime?.cancel(snapshot.context.id, { reason: 'its actor was stopped' }).catch(ignoreAfterStop)
      })
    },
    getInitialSnapshot(_scope, input) {
      const context = { id: nanoid(), checkin: undefined }
      return { status: 'active', output: undefined, error: undefined, input, context }
    },
    getPersistedSnapshot: (snapshot) => snapshot,
    restoreSnapshot: (snapshot) => snapshot as JobActorSnapshot<Input, Output>,
    start({ status, input, context: { id } }, { self }) {
      if (status !== 'active') return
      const tell = (event: JobActorEvent): void => {
        // The end of a job whose actor was stopped is nobody's news.
        if (self.getSnapshot().status === 'active') self.send(event)
      }
      if (runtime === undefined) return tell({ type: 'jobchart.failed', error: noRuntime(job) })
      runtime
        .enqueue(job, input, { ...options, id })
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
    },
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
    hint: 'Pass one: fromJob(job, runtime).',
  })
