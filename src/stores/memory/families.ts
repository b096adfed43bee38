/** Rows by the id of their parent. */
import type { Row } from './row.ts'

export class Families {
  private readonly children = new Map<string, Set<Row>>()

  /** The rows of all children of a job, in the order of their insertion. */
  childrenOf(id: string): ReadonlySet<Row> | undefined {
    return this.children.get(id)
  }

  add(row: Row): void {
    const parent = row.machine?.parent?.id
    if (parent === undefined) return
    const siblings = this.children.get(parent)
    if (siblings === undefined) this.children.set(parent, new Set([row]))
    else siblings.add(row)
  }

  remove(row: Row): void {
    const parent = row.machine?.parent?.id
    const siblings = parent === undefined ? undefined : this.children.get(parent)
    if (parent === undefined || siblings === undefined) return
    siblings.delete(row)
    if (siblings.size === 0) this.children.delete(parent)
  }
}
