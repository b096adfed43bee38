/** How far a time zone is from UTC at an instant, and when that changes. */
import { invalidOption } from './errors.ts'

/** A change of the offset of a zone. */
export interface OffsetChange {
  /** The first instant with the new offset, ms since the epoch. */
  readonly at: number
  /** Offsets from UTC in ms, positive in the east. */
  readonly before: number
  readonly after: number
}

/** Offsets lie within 14 hours of UTC, and no two changes of a zone lie within two days of each other. */
const dayMs = 86_400_000

export class TimeZone {
  readonly name: string
  private readonly format: Intl.DateTimeFormat | null

  /** @throws JobchartError INVALID_OPTION for a name that is no IANA time zone */
  constructor(name: string) {
    this.name = name
    try {
      this.format = name === 'UTC' ? null : formatOf(name)
    } catch {
      const hint = "Pass the name of an IANA time zone, such as 'UTC', 'Europe/Zurich' or 'America/New_York'."
      throw invalidOption('timezone', 'the name of a time zone', name, hint)
    }
  }

  get isUtc(): boolean {
    return this.format === null
  }

  /** ms to add to an instant for the time on the wall. */
  offsetAt(instant: number): number {
    if (this.format === null) return 0
    const second = Math.floor(instant / 1_000) * 1_000
    const parts: Record<string, number> = {}
    for (const { type, value } of this.format.formatToParts(second)) parts[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: seconds = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, seconds) - second
  }

  /**
   * The change of the offset within a day of an instant, if there is one. A time on the wall may be passed as if it
   * were UTC.
   */
  changeNear(instant: number): OffsetChange | null {
    if (this.format === null) return null
    let [low, high] = [instant - dayMs, instant + dayMs]
    const before = this.offsetAt(low)
    const after = this.offsetAt(high)
    if (before === after) return null
    // Whole seconds: no zone changes between two of them.
    low = Math.floor(low / 1_000)
    high = Math.ceil(high / 1_000)
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetAt(middle * 1_000) === before) low = middle
      else high = middle
    }
    return { at: high * 1_000, before, after }
  }
}

const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })

/** The zones that a process has met: each is made once, because making one takes longer than asking it. */
export class TimeZones {
  private readonly known = new Map<string, TimeZone>()

  /** @throws JobchartError INVALID_OPTION */
  named(name: string): TimeZone {
    let zone = this.known.get(name)
    if (zone === undefined) {
      zone = new TimeZone(name)
      this.known.set(name, zone)
    }
    return zone
  }
}
