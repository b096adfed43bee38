/** The messages of the live stream that many readers get: each is made once, as bytes, for all of them. */
import type { Counts, StateCounts, Transition } from '../index.ts'
import { jobStates } from '../core/lifecycle.ts'
import { ownValue } from '../core/own-value.ts'
import type { TransitionEntry } from '../store.ts'
import type { Feed } from './feed.ts'

/** Entries in one message. */
const entriesMax = 500
/** Messages of transitions that are kept: readers that have read everything get the same one. */
const keptMax = 16

export const encoder = new TextEncoder()

export function messageText(event: string, json: string, id?: string): string {
  const line = id === undefined ? '' : `id: ${id}\n`
  return `${line}event: ${event}\ndata: ${json}\n\n`
}

/** The data of a message of transitions. */
export interface LiveTransition extends Pick<Transition, 'seq' | 'at' | 'id' | 'type' | 'event' | 'from' | 'to'> {
  readonly attempt: number
}

/** The data of a message of counts. */
export interface LiveCounts extends Omit<Counts, 'cursor'> {
  /** Does `types` have all types? If not, those whose counts have changed since the message before. */
  readonly whole: boolean
}

/** Counts as messages: for a reader that was told those before, and for any other one. */
interface CountsMessages {
  readonly counts: Counts
  readonly number: number
  /** The number of those before, and what has changed since; null: it is told as a whole. */
  readonly before: number
  readonly change: Uint8Array | null
  whole: Uint8Array | null
}

interface TransitionsMessage {
  readonly entries: readonly TransitionEntry[]
  readonly bytes: Uint8Array
}

export class Messages {
  private readonly feed: Feed
  /** By the place of the first entry. */
  private readonly made = new Map<number, TransitionsMessage>()
  private head = 0
  private countsMade: CountsMessages | null = null
  private resetTo: string | null = null
  private resetBytes = encoder.encode('')
  private parts: readonly Uint8Array[] = []
  private joined: Uint8Array = encoder.encode('')

  constructor(feed: Feed) {
    this.feed = feed
  }

  /** The entries from a place on, as many as a message has; the feed has kept them. */
  transitions(place: number): TransitionsMessage {
    const { feed, made } = this
    // The last message grows with the log.
    if (this.head !== feed.head || made.size >= keptMax) made.clear()
    this.head = feed.head
    const known = made.get(place)
    if (known !== undefined) return known
    const entries = feed.from(place, entriesMax) ?? []
    const text = messageText('transitions', JSON.stringify(entries.map(shown)), entries.at(-1)?.cursor)
    const message = { entries, bytes: encoder.encode(text) }
    made.set(place, message)
    return message
  }

  /** The counts of the feed. @param told the number of those that the reader was told last */
  counts(counts: Counts, told: number): Uint8Array {
    const { countsMade: last, feed } = this
    const made = last?.number === feed.countsNumber ? last : countsMessages(counts, feed.countsNumber, last)
    this.countsMade = made
    if (made.change !== null && told === made.before) return made.change
    return (made.whole ??= countsBytes({ ...counts, whole: true }))
  }

  /** @param cursor to go on after */
  reset(cursor: string): Uint8Array {
    if (cursor !== this.resetTo) this.resetBytes = encoder.encode(messageText('reset', '{}', cursor))
    this.resetTo = cursor
    return this.resetBytes
  }

  /** Messages as one piece. Readers that get the same ones get the same piece. */
  join(parts: readonly Uint8Array[]): Uint8Array {
    const isKnown = parts.length === this.parts.length && parts.every((part, i) => part === this.parts[i])
    if (!isKnown) this.joined = Buffer.concat(parts)
    this.parts = parts
    return this.joined
  }
}

const countsBytes = (counts: LiveCounts): Uint8Array => encoder.encode(messageText('counts', JSON.stringify(counts)))

function countsMessages(counts: Counts, number: number, last: CountsMessages | null): CountsMessages {
  const types = last === null ? null : changedTypes(last.counts.types, counts.types)
  const change = types === null ? null : countsBytes({ ...counts, types, whole: false })
  return { counts, number, before: last?.number ?? 0, change, whole: null }
}

/** The types whose counts have changed, of which there may be thousands; null if one is gone. */
function changedTypes(before: Counts['types'], now: Counts['types']): Counts['types'] | null {
  if (Object.keys(before).some((type) => !Object.hasOwn(now, type))) return null
  const isSame = (type: string, counts: StateCounts): boolean => {
    const known = ownValue(before, type)
    return known !== undefined && jobStates.every((state) => known[state] === counts[state])
  }
  return Object.fromEntries(Object.entries(now).filter(([type, counts]) => !isSame(type, counts)))
}

const shown = ({ seq, at, id, type, event, from, to, attempt }: Transition): LiveTransition => ({
  seq,
  at,
  id,
  type,
  event,
  from,
  to,
  attempt,
})
