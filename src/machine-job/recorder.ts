/**
 * Records the events that reach the machines of a job from outside of them, so that changed charts can live through
 * them again.
 */
import type { EventObject } from 'xstate'
import { roughSize, type Json } from '../core/payload.ts'
import { storable } from './action-args.ts'
import type { Encode } from './codec.ts'

/** An event for a machine: of a caller, a timer or an actor that does work. */
export interface RecordedEvent {
  /** ms since the epoch. */
  readonly at: number
  /** Timers that were due by then have fired before. Left out if it is `at`. */
  readonly by?: number | undefined
  /** The address of the machine. Left out for the root. */
  readonly to?: string | undefined
  /** Encoded as in a checkpoint. `xstate.init` is the start of the machine. */
  readonly event: Json
  /** Was it the event of a timer? */
  readonly timer?: true | undefined
}

/** When and where an event arrives, as `RecordedEvent` has it. */
interface Arrival {
  readonly at: number
  readonly by: number
  readonly to: string
  readonly timer: boolean
}

/** About how many characters of the events of a checkpoint are kept. */
const charsMax = 16_384

export class Recorder {
  private readonly encode: Encode
  private readonly events: RecordedEvent[] = []
  private chars = 0

  constructor(encode: Encode) {
    this.encode = encode
  }

  record(event: EventObject, { at, by, to, timer }: Arrival): void {
    if (this.chars > charsMax) return
    const encoded = this.encoded(event)
    this.chars += encoded === null ? Infinity : roughSize(encoded)
    if (encoded === null) return
    this.events.push({
      at,
      by: by === at ? undefined : by,
      to: to === '' ? undefined : to,
      event: encoded,
      timer: timer || undefined,
    })
  }

  /**
   * Few events hold what JSON cannot represent. Null for one that is too large, or that throws when it is read: what an
   * actor sends must reach the machine, whether or not it can be recorded.
   */
  private encoded(event: EventObject): Json | null {
    for (const part of [(): unknown => event, (): unknown => storable(event)]) {
      try {
        return this.encode(part())
      } catch {
        continue
      }
    }
    return null
  }

  /** The events since the last call; null if they were more than are kept. */
  take(): readonly RecordedEvent[] | null {
    const taken = this.events.splice(0)
    const isWhole = this.chars <= charsMax
    this.chars = 0
    return isWhole ? taken : null
  }
}
