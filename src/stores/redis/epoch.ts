/**
 * Notices that a server was rolled back: it was started from an older snapshot, or a replica without the last writes
 * took its place. Each run of a server is an epoch of the log. A process knows in which epoch it has seen which
 * transition; if that epoch ended before it, the transition is gone.
 */
import { randomBytes } from 'node:crypto'

/** Epochs that the server keeps. A process that knows of an older one takes it for gone. */
export const epochsMax = 1_000

interface Known {
  readonly id: string
  /** The number of the last transition before it. */
  readonly after: number
}

interface Rollback {
  /** The number of the last transition that was seen, and of the last one that is left of these. */
  readonly seen: number
  readonly left: number
}

/** What a process finds when it compares the epochs that it knows of with those of the server. */
export interface EpochNews {
  readonly rollback: Rollback | null
  /** Has another epoch begun since? */
  readonly isOther: boolean
}

export const newEpoch = (): string => randomBytes(6).toString('hex')

export class Epochs {
  private known: readonly Known[]
  private lastSeen = 0

  /** @param texts as the server has them: ids and numbers */
  constructor(texts: readonly string[]) {
    this.known = texts.map(parsed)
  }

  /** The id of the epoch, as far as this process knows. */
  get current(): string {
    return this.known.at(-1)?.id ?? ''
  }

  /** The number of the last transition that this process knows of. */
  get seen(): number {
    return this.lastSeen
  }

  /**
   * Takes the epochs of a server, and the number of its last transition.
   * @param seen what was seen when the server was asked: answers to later calls may have been read before this one
   */
  learn(texts: readonly string[], seq: number, seen: number): EpochNews {
    const before = this.known.at(-1)
    this.known = texts.map(parsed)
    const left = before === undefined ? seq : Math.min(this.endOf(before.id), seq)
    // Less is known since if another answer has told of the rollback.
    const known = Math.min(seen, this.lastSeen)
    const isRollback = left < known && before !== undefined
    this.lastSeen = isRollback ? seq : Math.max(this.lastSeen, seq)
    return {
      rollback: isRollback ? { seen: known, left } : null,
      isOther: before !== undefined && this.current !== before.id,
    }
  }

  /**
   * Takes the number of the last transition, which every answer tells.
   * @returns false if it has gone back: there was a rollback, and `learn` tells of what
   */
  see(seq: number): boolean {
    if (seq < this.lastSeen) return false
    this.lastSeen = seq
    return true
  }

  /** A cursor of the log: the number of an entry, and the epoch in which it was read. */
  cursor(seq: number): string {
    const { id } = this.known.findLast(({ after }) => after < seq) ?? {}
    return id === undefined ? String(seq) : `${seq}-${id}`
  }

  /** Is the epoch of a cursor known here? If not, it may have begun since, or be gone. */
  knows(cursor: string): boolean {
    const [, id] = cursor.split('-')
    return id === undefined || this.known.some((each) => each.id === id)
  }

  /**
   * Is the entry of a cursor gone by a rollback?
   * @param last the number of the last transition of the server
   */
  isGone(cursor: string, last: number): boolean {
    const [seq, id] = cursor.split('-')
    return Number(seq) > last || (id !== undefined && this.endOf(id) < Number(seq))
  }

  /** The number of the last transition of an epoch that has ended; 0 of one that is not known. */
  private endOf(id: string): number {
    const index = this.known.findIndex((each) => each.id === id)
    return index === -1 ? 0 : (this.known[index + 1]?.after ?? Infinity)
  }
}

function parsed(text: string): Known {
  const [id = '', after] = text.split(' ')
  return { id, after: Number(after) }
}
