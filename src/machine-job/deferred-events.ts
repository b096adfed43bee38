/**
 * Events that a machine has read and not taken, and that wait in the inbox for a state that takes them: those that were
 * sent with `accept: 'later'`, and those that another version of the machine has accepted. After each step of the
 * machine they are offered again, in the order of their arrival.
 */
import { defaultKeepMs, type DroppedEvent, type InboxEntry, type SentEvent } from '../core/machine-record.ts'

export type EventEntry = InboxEntry & { readonly message: SentEvent }

export const isEvent = (entry: InboxEntry): entry is EventEntry => entry.message.kind === 'event'

export const eventOf = ({ message }: EventEntry): { readonly type: string } =>
  message.event as { readonly type: string }

/**
 * Until when an event that was not taken is kept, ms since the epoch; null: it is dropped.
 * @param machine the name of the machine that has read it
 */
export function keptUntil({ at, message: { keepMs, judgedBy } }: EventEntry, machine: string): number | null {
  if (keepMs !== undefined) return at + keepMs
  return judgedBy === undefined || judgedBy === machine ? null : at + defaultKeepMs
}

/**
 * When a deferred event expires, ms since the epoch. One that the machine itself would drop was deferred by another
 * version.
 */
export const expiryOf = (entry: EventEntry, machine: string): number =>
  keptUntil(entry, machine) ?? entry.at + defaultKeepMs

export class DeferredEvents {
  private readonly machine: string
  /** Ascending by number. */
  private entries: EventEntry[]
  /** Those that were dropped since the last checkpoint. */
  readonly dropped: DroppedEvent[] = []

  /** @param entries those that the checkpoint has deferred, ascending by number */
  constructor(machine: string, entries: readonly InboxEntry[]) {
    this.machine = machine
    this.entries = entries.filter(isEvent)
  }

  get isEmpty(): boolean {
    return this.entries.length === 0
  }

  /** When the first one expires, ms since the epoch; null: none will. */
  get nextExpiry(): number | null {
    if (this.entries.length === 0) return null
    return Math.min(...this.entries.map((entry) => expiryOf(entry, this.machine)))
  }

  /** Keeps an event that was not taken, or drops it. @returns whether it is kept */
  add(entry: EventEntry): boolean {
    const keeps = keptUntil(entry, this.machine) !== null
    if (keeps) this.entries.push(entry)
    else this.dropped.push({ number: entry.number, why: 'not taken' })
    return keeps
  }

  /** Removes and returns the first one that `takes` says is taken. */
  takeFirst(takes: (entry: EventEntry) => boolean): EventEntry | null {
    const index = this.entries.findIndex(takes)
    return index === -1 ? null : (this.entries.splice(index, 1)[0] ?? null)
  }

  /** Drops those that have expired at `by`. @returns them */
  expire(by: number): readonly EventEntry[] {
    const expired = this.entries.filter((entry) => expiryOf(entry, this.machine) <= by)
    if (expired.length === 0) return expired
    this.entries = this.entries.filter((entry) => !expired.includes(entry))
    this.dropped.push(...expired.map(({ number }) => ({ number, why: 'expired' }) as const))
    return expired
  }

  get all(): readonly EventEntry[] {
    return this.entries
  }
}
