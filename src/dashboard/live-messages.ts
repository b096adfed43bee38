/** The messages of the live stream that many readers get: each is made once, as bytes, for all of them. */
import type { Transition } from '../index.ts'
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

interface TransitionsMessage {
  readonly entries: readonly TransitionEntry[]
  readonly bytes: Uint8Array
}

export class Messages {
  private readonly feed: Feed
  /** By the place of the first entry. */
  private readonly made = new Map<number, TransitionsMessage>()
  private head = 0
  private countsText = ''
  private countsBytes = encoder.encode('')
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

  counts(): Uint8Array {
    const { countsText } = this.feed
    if (countsText !== this.countsText) this.countsBytes = encoder.encode(messageText('counts', countsText))
    this.countsText = countsText
    return this.countsBytes
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
