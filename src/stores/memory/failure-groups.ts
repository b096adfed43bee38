/** The failed attempts of a queue in groups, the one that has occurred last at the end. */
import { caps } from '../../core/caps.ts'
import type { Failure } from '../../core/fingerprint.ts'
import type { FailureGroup } from '../../store.ts'
import { LinkedList, type LinkedItem } from './linked-list.ts'

interface Group extends LinkedItem<Group> {
  readonly failure: Failure
  count: number
  dead: number
  readonly firstAt: number
  lastAt: number
  lastId: string
  /** The number of the transition by which it has occurred last. */
  lastSeq: number
}

export interface LatestGroup {
  readonly lastSeq: number
  readonly group: FailureGroup
}

export class FailureGroups {
  private readonly groups = new Map<string, Group>()
  private readonly order = new LinkedList<Group>()

  /** Adds a failed attempt. */
  add(failure: Failure, id: string, seq: number, now: number): void {
    const { fingerprint } = failure
    const known = this.groups.get(fingerprint)
    if (known !== undefined) this.order.remove(known)
    const fresh = { failure, count: 0, dead: 0, firstAt: now, lastAt: now, lastId: id, lastSeq: seq }
    const group: Group = known ?? { ...fresh, prev: null, next: null }
    group.count++
    group.lastAt = now
    group.lastId = id
    group.lastSeq = seq
    this.groups.set(fingerprint, group)
    this.order.append(group)
    if (this.groups.size <= caps.failureGroups) return
    const { head: oldest } = this.order
    if (oldest === null) return
    this.order.remove(oldest)
    this.groups.delete(oldest.failure.fingerprint)
  }

  /** A job that died at `diedAt` with an error of a group is one of its dead jobs from now on, or no longer. */
  countDead(fingerprint: string, diedAt: number, by: 1 | -1): void {
    const group = this.groups.get(fingerprint)
    if (group !== undefined && diedAt >= group.firstAt) group.dead = Math.max(0, group.dead + by)
  }

  /** Those that have occurred last first. */
  *latestFirst(type: string): Generator<LatestGroup, undefined> {
    for (let each = this.order.tail; each !== null; each = each.prev) {
      const { failure, count, dead, firstAt, lastAt, lastId, lastSeq } = each
      const { fingerprint, name, code, message } = failure
      yield { lastSeq, group: { type, fingerprint, name, code, message, count, dead, firstAt, lastAt, lastId } }
    }
  }
}
