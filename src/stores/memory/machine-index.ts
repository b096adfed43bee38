/**
 * Rows by the state paths and the tags of their machines at the last checkpoint. Those that have not ended are counted
 * in their queues.
 */
import type { Row } from './row.ts'

type Names = ReadonlyMap<string, ReadonlySet<Row>>

export class MachineIndex {
  private readonly byState = new Map<string, Set<Row>>()
  private readonly byTag = new Map<string, Set<Row>>()

  get states(): Names {
    return this.byState
  }

  get tags(): Names {
    return this.byTag
  }

  /** Sets the state paths and tags of a row's machine; none if the row is removed or starts over. */
  update(row: Row, states: readonly string[], tags: readonly string[]): void {
    const { machine } = row
    if (machine === null) return
    change(this.byState, row, machine.states, states)
    change(this.byTag, row, machine.tags, tags)
    if (!row.phase.ended) row.queue.machineTally.add(machine, -1)
    machine.states = states
    machine.tags = tags
    if (!row.phase.ended) row.queue.machineTally.add(machine, 1)
  }
}

function change(index: Map<string, Set<Row>>, row: Row, old: readonly string[], next: readonly string[]): void {
  for (const name of old) {
    if (next.includes(name)) continue
    const rows = index.get(name)
    rows?.delete(row)
    if (rows?.size === 0) index.delete(name)
  }
  for (const name of next) {
    if (old.includes(name)) continue
    const rows = index.get(name)
    if (rows === undefined) index.set(name, new Set([row]))
    else rows.add(row)
  }
}
