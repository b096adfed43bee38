/** The failed attempts of a queue in groups, the one that has occurred last at the end. */
import { caps } from '../../core/caps.ts'
import type { Failure } from '../../core/fingerprint.ts'
import type { FailureGroup } from '../../store.ts'

interface Group {
  readonly failure: Failure
  count: number
  dead: number
  readonly firstAt: number
  lastAt: number
  lastId: string
  /** The number of the transition by which it has occurred last. */
  lastSeq: number
}

export class FailureGroups {
  private readonly groups = new Map<string, Group>()

  /** Adds a failed attempt. */
  add(failure: Failure, id: string, seq: number, now: number): void {
    const { fingerprint } = failure
    const group = this.groups.get(fingerprint) ?? {
      failure,
      count: 0,
      dead: 0,
      firstAt: now,
      lastAt: now,
      lastId: id,
      lastSeq: seq,
    }
    group.count++
    group.lastAt = now
    group.lastId = id
    group.lastSeq = seq
    this.groups.delete(fingerprint)
    this.groups.set(fingerprint, group)
    if (this.groups.size <= caps.failureGroups) return
    for (const oldest of this.groups.keys()) {
      this.groups.delete(oldest)
      return
    }
  }

  /** A job that died at `diedAt` with an error of a group is one of its dead jobs from now on, or no longer. */
  countDead(fingerprint: string, diedAt: number, by: 1 | -1): void {
    const group = this.groups.get(fingerprint)
    if (group !== undefined && diedAt >= group.firstAt) group.dead = Math.max(0, group.dead + by)
  }

  *all(type: string): Generator<{ readonly lastSeq: number; readonly group: FailureGroup }> {
    for (const { failure, count, dead, firstAt, lastAt, lastId, lastSeq } of this.groups.values()) {
      const { fingerprint, name, code, message } = failure
      yield { lastSeq, group: { type, fingerprint, name, code, message, count, dead, firstAt, lastAt, lastId } }
    }
  }
}
