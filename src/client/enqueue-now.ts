/** An enqueue in a transaction on the connection of the store: it is written when this returns. */
import { enqueueOptions, type EnqueueOptions } from '../core/call-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { JobHandle } from '../core/handle.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import type { SynchronousTransaction } from '../store.ts'
import type { Connection } from './connection.ts'
import { prepareNow } from './enqueue.ts'
import { noRoom } from './insert-within.ts'
import { tracedNow, typeIn } from './traced.ts'

interface EnqueueNow {
  readonly tx: SynchronousTransaction
  readonly job: JobDefinition
  readonly input: unknown
  readonly options: EnqueueOptions | undefined
  /** The caller is a running job: it is not refused during a stop, and the capacity does not apply. */
  readonly fromRun: boolean
}

/** @returns null if there is no room now @throws JobchartError as `Within.enqueue` */
export function enqueueNow<Output, Machine extends MachineTypes>(
  connection: Connection,
  { tx, job, input, options, fromRun }: EnqueueNow,
): JobHandle<Output, Machine> | null {
  const from = fromRun ? 'job' : 'call'
  const checked = options === undefined ? {} : enqueueOptions(options, 'options of enqueue')
  return tracedNow(connection.settings, { type: typeIn(job), from, count: null }, (span) => {
    const refusal = fromRun ? null : connection.refusing()
    if (refusal !== null) throw refusal
    const made = prepareNow(connection.preparingUnder(span), job, input, checked, from)
    return connection.within.insertNow<Output, Machine>(tx, [made], !fromRun)?.[0] ?? null
  })
}

/** An enqueue of a running job, which has room always. */
export function enqueueFromRun<Output>(connection: Connection, call: Omit<EnqueueNow, 'fromRun'>): JobHandle<Output> {
  const handle = enqueueNow<Output, MachineTypes>(connection, { ...call, fromRun: true })
  if (handle === null) throw noRoom(1)
  return handle
}
