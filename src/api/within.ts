/** `client.within(tx)`: calls in a transaction of the caller that have written when they return. */
import { noRoom } from '../client/insert-within.ts'
import type { Connection } from '../client/connection.ts'
import { ofInput, prepareByName, prepareNow } from '../client/enqueue.ts'
import { enqueueNow } from '../client/enqueue-now.ts'
import { tracedNow, typeIn } from '../client/traced.ts'
import {
  cancelTerms,
  enqueueOptionsWithoutId,
  selectionOf,
  sendSettings,
  type CancelOptions,
  type CheckedEnqueueOptions,
  type EnqueueArguments,
  type EnqueueOptions,
  type SendOptions,
} from '../core/call-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import { invalidOption } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import type { MachineEvent, MachineTypes } from '../core/machine-record.ts'
import { checkedSchedule, scheduleName, type ScheduleArguments, type ScheduleHandle } from '../core/schedule-options.ts'
import type { ScheduleSpec } from '../core/tick-times.ts'
import type { NewJob, SynchronousTransaction } from '../store.ts'
import { checkBytes, checkInputs } from './many.ts'

/** Options of an enqueue that cannot wait. */
export type WithinEnqueueOptions = Omit<EnqueueOptions, 'tx' | 'signal' | 'timeout'>

/**
 * Calls in an open transaction on the connection of the store. They have written when they return, and they throw: an
 * error that nobody catches rolls a synchronous transaction back. What they ask for is carried out right after the
 * commit, as by calls with `{ tx }`.
 */
export interface Within {
  /**
   * Stores a job if the transaction commits. Its handle’s `stored()` resolves after the commit; until then its calls
   * wait.
   * @throws JobchartError UNKNOWN_TYPE, INVALID_INPUT, INVALID_OPTION, STOPPED; CAPACITY without room; TX_NOT_OPEN,
   *   TX_OTHER_DATABASE, STORE_UNAVAILABLE if the transaction cannot be written to; UNSUPPORTED by other stores than
   *   `sqliteStore({ database })`, and for a schema that is asynchronous
   * @example
   * database.transaction(() => {
   *   insert.run(order.id)
   *   client.within(database).enqueue(receipt, { order: order.id })
   * })()
   */
  enqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>, WithinEnqueueOptions>
  ): JobHandle<Output, Machine>

  /** The same; null if there is no room now. @throws as `enqueue` */
  tryEnqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>, WithinEnqueueOptions>
  ): JobHandle<Output, Machine> | null

  /** Stores many jobs of a type, all or none. @param inputs 10,000 at most @throws as `enqueue` */
  enqueueMany<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    inputs: readonly NoInfer<Input>[],
    options?: Omit<WithinEnqueueOptions, 'id'>,
  ): JobHandle<Output, Machine>[]

  /** Stores a job by the name of its type. @throws as `enqueue`, but for UNKNOWN_TYPE */
  enqueueByName(type: string, input?: unknown, options?: WithinEnqueueOptions): JobHandle

  /**
   * Sends an event to the machine of a job, also to one of the same transaction: `accept` is `'later'` (default) or
   * `'always'`.
   * @throws JobchartError INVALID_INPUT, INVALID_OPTION, NOT_ACCEPTED; and as `enqueue`
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- of a parameter, literals may have further members
  send<Event extends MachineEvent>(id: string, event: Event, options?: Omit<SendOptions, 'tx'>): void
  send<Input, Output, Machine extends MachineTypes>(
    definition: JobDefinition<Input, Output, Machine>,
    id: string,
    event: NoInfer<Machine['event']>,
    options?: Omit<SendOptions, 'tx'>,
  ): void

  /** Cancels jobs. @param ids of one job, or of several @throws JobchartError INVALID_OPTION; and as `enqueue` */
  cancel(ids: string | readonly string[], options?: Omit<CancelOptions, 'tx'>): void

  /** Declares a schedule, or changes the one of this name. @throws as `Client.schedule`, and as `enqueue` */
  schedule<Input, Output, Machine extends MachineTypes>(
    name: string,
    spec: ScheduleSpec,
    job: JobDefinition<Input, Output, Machine>,
    ...args: ScheduleArguments<NoInfer<Input>>
  ): ScheduleHandle<Output, Machine>

  /** Removes a schedule, if there is one of this name. @throws JobchartError INVALID_OPTION; and as `enqueue` */
  removeSchedule(name: string): void
}

interface CallsWithinOptions {
  readonly connection: Connection
  readonly tx: SynchronousTransaction
}

export class CallsWithin implements Within {
  private readonly options: CallsWithinOptions

  constructor(options: CallsWithinOptions) {
    this.options = options
  }

  enqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>, WithinEnqueueOptions>
  ): JobHandle<Output, Machine> {
    const handle = this.tryEnqueue<Input, Output, Machine>(job, ...args)
    if (handle === null) throw noRoom(1)
    return handle
  }

  tryEnqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>, WithinEnqueueOptions>
  ): JobHandle<Output, Machine> | null {
    const { connection, tx } = this.options
    const [input, given] = args
    const options = given === undefined ? undefined : withoutTx(given)
    return enqueueNow<Output, Machine>(connection, { tx, job, input, options, fromRun: false })
  }

  enqueueMany<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    inputs: readonly NoInfer<Input>[],
    given?: Omit<WithinEnqueueOptions, 'id'>,
  ): JobHandle<Output, Machine>[] {
    checkInputs(inputs)
    const { connection } = this.options
    const options: CheckedEnqueueOptions =
      given === undefined ? {} : enqueueOptionsWithoutId(withoutTx(given), 'options of enqueueMany')
    if (inputs.length === 0) return []
    this.checkAccepting()
    return tracedNow(connection.settings, { type: typeIn(job), from: 'call', count: inputs.length }, (span) => {
      const preparing = connection.preparingUnder(span)
      const made = inputs.map((input, i) => ofInput(i, () => prepareNow(preparing, job, input, options)))
      checkBytes(made)
      const handles = this.insert<Output, Machine>(made)
      if (handles === null) throw noRoom(made.length)
      return handles
    })
  }

  enqueueByName(type: string, input?: unknown, given?: WithinEnqueueOptions): JobHandle {
    const { connection } = this.options
    const job = connection.settings.jobs.get(type)
    if (job !== undefined) return this.enqueue<unknown, unknown, MachineTypes>(job, input, given)
    this.checkAccepting()
    return tracedNow(connection.settings, { type, from: 'call', count: null }, (span) => {
      const made = prepareByName(connection.preparingUnder(span), type, input, given && withoutTx(given))
      const [handle] = this.insert([made]) ?? []
      if (handle === undefined) throw noRoom(1)
      return handle
    })
  }

  send(...args: SendArguments): void {
    const [definition, id, event, options = {}] = isWithDefinition(args) ? args : ([undefined, ...args] as const)
    const { connection, tx } = this.options
    connection.machines.sendWithinNow(tx, id, event, sendSettings(withoutTx(options), true), definition)
  }

  cancel(ids: string | readonly string[], options: Omit<CancelOptions, 'tx'> = {}): void {
    const { connection, tx } = this.options
    const terms = cancelTerms(withoutTx(options))
    const selection = selectionOf(ids)
    if ('filter' in selection) {
      const hint = 'A cancel by filter is a bulk operation: start it after the commit.'
      throw invalidOption('jobs', 'ids in a transaction', selection.filter, hint)
    }
    connection.transactions.writeNow(tx, [{ kind: 'cancel', request: { ids: selection.ids, ...terms } }])
  }

  schedule<Input, Output, Machine extends MachineTypes>(
    name: string,
    spec: ScheduleSpec,
    job: JobDefinition<Input, Output, Machine>,
    ...args: ScheduleArguments<NoInfer<Input>>
  ): ScheduleHandle<Output, Machine> {
    const { connection, tx } = this.options
    const [input, options] = args
    const definition = checkedSchedule(name, spec, job, input, options)
    this.checkAccepting()
    const request = connection.schedules.declarationNow(definition)
    connection.transactions.writeNow(tx, [{ kind: 'schedule', request }])
    return connection.scheduleHandle(name)
  }

  removeSchedule(name: string): void {
    const request = { name: scheduleName(name, 'name of the schedule') }
    this.options.connection.transactions.writeNow(this.options.tx, [{ kind: 'unschedule', request }])
  }

  private insert<Output, Machine extends MachineTypes>(jobs: readonly NewJob[]): JobHandle<Output, Machine>[] | null {
    const { connection, tx } = this.options
    return connection.within.insertNow<Output, Machine>(tx, jobs)
  }

  private checkAccepting(): void {
    const refusal = this.options.connection.refusing()
    if (refusal !== null) throw refusal
  }
}

/** @throws JobchartError INVALID_OPTION */
function withoutTx<Options extends object>(options: Options): Options {
  if (typeof options !== 'object' || !('tx' in options) || options.tx === undefined) return options
  throw invalidOption('tx', 'none: it is the argument of `within`', options.tx)
}

type SendArguments =
  | [id: string, event: MachineEvent, options?: Omit<SendOptions, 'tx'> | undefined]
  | [definition: JobDefinition, id: string, event: MachineEvent, options?: Omit<SendOptions, 'tx'> | undefined]

const isWithDefinition = (args: SendArguments): args is Extract<SendArguments, [JobDefinition, ...unknown[]]> =>
  typeof args[1] === 'string'
