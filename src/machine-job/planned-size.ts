/**
 * How much the planned effects add to the outbox of a checkpoint: each holds its event, and the context that the
 * machine had then. A burst of messages, or of timers, would otherwise plan more than a checkpoint may weigh.
 */
import type { PendingEffect } from './plan.ts'
import { isPlain } from '../core/payload.ts'

/** About how many bytes the messages and timers of one checkpoint may add; the last of them may add more. */
const bytesMax = 1_048_576

export class PlannedSize {
  private counted = 0
  private bytes = 0
  /** Effects of one step have the same context and the same event. */
  private last: { readonly context: unknown; readonly event: unknown } | null = null

  /** Do the next message and the next timer have to wait for the next checkpoint? */
  isFull(pending: readonly PendingEffect[]): boolean {
    for (; this.counted < pending.length && this.bytes <= bytesMax; this.counted++) {
      const each = pending[this.counted] as PendingEffect
      if (!('event' in each)) continue
      const { event } = each
      const { context, params } = each.kind === 'action' ? each : noArgs
      if (this.last?.event !== event) this.add(event)
      if (this.last?.context !== context) this.add(context)
      this.add(params)
      this.last = { context, event }
    }
    return this.bytes > bytesMax
  }

  /** The effects are in a checkpoint. */
  restart(): void {
    this.counted = 0
    this.bytes = 0
    this.last = null
  }

  private add(value: unknown): void {
    this.bytes += sizeOf(value, bytesMax - this.bytes)
  }
}

const noArgs = { context: undefined, params: undefined }

/** About how many bytes of JSON a value takes, or more than `most`: it may refer to itself. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 4
  if (!Array.isArray(value) && !isPlain(value)) return 100
  let size = 2
  for (const key in value) {
    if (size > most) return size
    size += key.length + sizeOf(value[key as keyof typeof value], most - size)
  }
  return size
}
