/** Rows by the state paths and the tags of their machines at the last checkpoint, and those that no worker can run. */
import type { MachineStanding } from '../../core/machine-tally.ts'
import type { Row } from './row.ts'

type Names = ReadonlyMap<string, ReadonlySet<Row>>

export class MachineIndex {
  private readonly byState = new Map<string, Set<Row>>()
  private readonly byTag = new Map<string, Set<Row>>()
  private readonly stopped = new Set<Row>()

  get states(): Names {
    return this.byState
  }

  get tags(): Names {
    return this.byTag
  }

  /** Rows that wait because no worker could run their machine. */
  get unsupported(): ReadonlySet<Row> {
    return this.stopped
  }

  change(row: Row, was: MachineStanding, is: MachineStanding): void {
    if (was.states !== is.states) change(this.byState, row, was.states, is.states)
    if (was.tags !== is.tags) change(this.byTag, row, was.tags, is.tags)
  }

  changeUnsupported(row: Row, isUnsupported: boolean): void {
    if (isUnsupported) this.stopped.add(row)
    else this.stopped.delete(row)
  }
}

function change(index: Map<string, Set<Row>>, row: Row, old: readonly string[], next: readonly string[]): void {
  // Not by iterators: V8 makes an object for each of their steps, as some of the lists are frozen.
  for (let i = 0; i < old.length; i++) {
    const name = old[i] as string
    if (next.includes(name)) continue
    const rows = index.get(name)
    rows?.delete(row)
    if (rows?.size === 0) index.delete(name)
  }
  for (let i = 0; i < next.length; i++) {
    const name = next[i] as string
    if (old.includes(name)) continue
    const rows = index.get(name)
    if (rows === undefined) index.set(name, new Set([row]))
    else rows.add(row)
  }
}
