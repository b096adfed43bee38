/**
 * `ctx.enqueue`: derives the ids of enqueued jobs from the running job, so that a repeated attempt finds the jobs of
 * the attempt before it instead of enqueueing them again.
 */
import { runEnqueueOptions, type EnqueueOptions, type RunEnqueueOptions } from '../core/call-options.ts'
import { invalidOption } from '../core/errors.ts'
import { toPayload } from '../core/payload.ts'
import { digestOf } from '../core/platform.ts'
import { canonical } from '../core/unique.ts'
import type { JobHandle } from '../core/handle.ts'
import { inheritFrom, type Inherit } from '../core/inherit.ts'
import { payloadLimits } from '../core/limits.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import { TxHandle } from '../client/tx-handle.ts'
import type { ClaimedJob } from '../store.ts'

/**
 * Form of generated ids (`client/ids.ts`), which begin with the time in 7 characters. Derived ids keep it as their
 * prefix.
 */
const madeId = /^[-\w]{21}$/
const timeChars = 7
const idChars = 21

/** The enqueues of one input of one type. They are numbered in their order. */
interface Same {
  readonly id: string
  count: number
  /** Those in transactions, which may be rolled back. */
  readonly written: Set<Written>
  /** The numbers of those that were rolled back, or refused: the next ones have them. */
  free: number[]
}

interface Written {
  readonly number: number
  readonly handle: Pick<TxHandle<unknown, MachineTypes>, 'isRolledBack'>
}

export class RunEnqueue {
  private readonly claimed: ClaimedJob
  private readonly inherit: Inherit
  private readonly byInput = new Map<string, Same>()
  private begin: number | null = null

  constructor(claimed: ClaimedJob) {
    this.claimed = claimed
    this.inherit = inheritFrom(claimed)
  }

  /**
   * Enqueues, in the turn of the call unless it may repeat what was rolled back with a transaction: then it has the id
   * of that, as in the next attempt.
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT; what `call` throws
   */
  async enqueue<Output>(
    type: string,
    input: unknown,
    given: RunEnqueueOptions,
    call: (options: EnqueueOptions) => Promise<JobHandle<Output>>,
  ): Promise<JobHandle<Output>> {
    const options = this.named(type, given)
    if (options.id !== undefined) return call(options)
    const same = this.same(type, input)
    if (same.written.size > 0) await findRolledBack(same)
    const number = nextOf(same)
    try {
      const handle = await call({ ...options, id: this.numbered(same, number) })
      if (handle instanceof TxHandle) same.written.add({ number, handle })
      return handle
    } catch (error) {
      repeat(same, [number])
      throw error
    }
  }

  /**
   * The options, with the derived id of the job unless they define one, and with what the running job passes on.
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT
   */
  options(type: string, input: unknown, given: RunEnqueueOptions): EnqueueOptions {
    const options = this.named(type, given)
    if (options.id !== undefined) return options
    const same = this.same(type, input)
    return { ...options, id: this.numbered(same, nextOf(same)) }
  }

  /** With the id that they define, or that a key tells. */
  private named(type: string, given: RunEnqueueOptions): EnqueueOptions {
    const { key, ...own } = runEnqueueOptions(given, 'options of ctx.enqueue')
    const options = this.inherit(own)
    if (key === undefined) return options
    if (options.id !== undefined) {
      throw invalidOption('key', 'no key beside id', key, 'Pass only one of the two.')
    }
    return { ...options, id: this.derived('key', type, key) }
  }

  private same(type: string, input: unknown): Same {
    const payload =
      input === undefined ? 'none' : canonical(toPayload(input, 'INVALID_INPUT', payloadLimits, 'input of job', type))
    const id = this.derived('input', type, payload, this.snoozedAt())
    const same = this.byInput.get(id) ?? { id, count: 0, written: new Set(), free: [] }
    this.byInput.set(id, same)
    return same
  }

  /** Without a key, enqueues of the same input and type are distinguished by their order in the run. */
  private numbered({ id }: Same, number: number): string {
    return number === 0 ? id : this.derived('again', id, number)
  }

  private derived(...parts: readonly (string | number)[]): string {
    const { id, generation } = this.claimed
    const digest = digestOf(JSON.stringify([id, generation, ...parts]))
    const time = madeId.test(id) ? id.slice(0, timeChars) : ''
    return time + digest.slice(0, idChars - time.length)
  }

  /** seq of the last SNOOZE, 0 if there is none: a run after a snooze does not repeat the one before it. */
  private snoozedAt(): number {
    this.begin ??= this.claimed.record().history.findLast(({ event }) => event === 'SNOOZE')?.seq ?? 0
    return this.begin
  }
}

const nextOf = (same: Same): number => same.free.shift() ?? same.count++

/** Asks for the last one: in a transaction that is open, none before it needs to be asked for again. */
async function findRolledBack(same: Same): Promise<void> {
  const all = [...same.written]
  if ((await all.at(-1)?.handle.isRolledBack()) !== true) return
  const areRolledBack = await Promise.all(all.map(({ handle }) => handle.isRolledBack()))
  const found = all.filter((each, i) => areRolledBack[i] === true && same.written.delete(each))
  repeat(
    same,
    found.map(({ number }) => number),
  )
}

const repeat = (same: Same, numbers: readonly number[]): void => {
  same.free = [...same.free, ...numbers].toSorted((a, b) => a - b)
}
