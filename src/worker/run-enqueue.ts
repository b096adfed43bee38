/**
 * `ctx.enqueue`: derives the ids of enqueued jobs from the running job, so that a repeated attempt finds the jobs of
 * the attempt before it instead of enqueueing them again.
 */
import { runEnqueueOptions, type EnqueueOptions, type RunEnqueueOptions } from '../core/call-options.ts'
import { invalidOption } from '../core/errors.ts'
import { toPayload } from '../core/payload.ts'
import { digestOf } from '../core/platform.ts'
import { canonical } from '../core/unique.ts'
import { inheritFrom, type Inherit } from '../core/inherit.ts'
import { payloadLimits } from '../core/limits.ts'
import type { ClaimedJob } from '../store.ts'

/**
 * Form of generated ids (`client/ids.ts`), which begin with the time in 7 characters. Derived ids keep it as their
 * prefix.
 */
const madeId = /^[-\w]{21}$/
const timeChars = 7
const idChars = 21

export class RunEnqueue {
  private readonly claimed: ClaimedJob
  private readonly inherit: Inherit
  /** By derived id: how often this run has enqueued the same input of the same type. */
  private readonly times = new Map<string, number>()
  private begin: number | null = null

  constructor(claimed: ClaimedJob) {
    this.claimed = claimed
    this.inherit = inheritFrom(claimed)
  }

  /**
   * The options, with the derived id of the job unless they define one, and with what the running job passes on.
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT
   */
  options(type: string, input: unknown, given: RunEnqueueOptions): EnqueueOptions {
    const { key, ...own } = runEnqueueOptions(given, 'options of ctx.enqueue')
    const options = this.inherit(own)
    if (key !== undefined) {
      if (options.id !== undefined) {
        throw invalidOption('key', 'no key beside id', key, 'Pass only one of the two.')
      }
      return { ...options, id: this.derived('key', type, key) }
    }
    return options.id === undefined ? { ...options, id: this.ofInput(type, input) } : options
  }

  /** Without a key, enqueues of the same input and type are distinguished by their order in the run. */
  private ofInput(type: string, input: unknown): string {
    const payload =
      input === undefined ? 'none' : canonical(toPayload(input, 'INVALID_INPUT', payloadLimits, 'input of job', type))
    const same = this.derived('input', type, payload, this.snoozedAt())
    const times = this.times.get(same) ?? 0
    this.times.set(same, times + 1)
    return times === 0 ? same : this.derived('again', same, times)
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
