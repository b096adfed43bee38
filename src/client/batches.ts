/**
 * Splits cancels, retries and discards of many jobs into calls of bounded size, with a turn of the event loop between
 * two.
 */
import { caps } from '../core/caps.ts'
import type { Clock } from '../core/clock.ts'
import type { Selection } from '../store.ts'

/** The outcome of one call: lists of ids, and the cursor of the next call. */
export type BatchAnswer<Name extends string> = { readonly [name in Name]: readonly string[] } & {
  readonly next?: string
}

/** Merges the lists of all calls: the first ids of each list, and its length. */
export class Report<Name extends string> {
  private readonly names: readonly Name[]
  private readonly ids: Record<Name, string[]>
  private readonly totals: Record<Name, number>

  constructor(names: readonly Name[]) {
    this.names = names
    this.ids = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, string[]>
    this.totals = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
  }

  add(answer: BatchAnswer<Name>): void {
    for (const name of this.names) {
      const added = answer[name]
      const room = caps.reportIds - this.ids[name].length
      if (room > 0) this.ids[name].push(...added.slice(0, room))
      this.totals[name] += added.length
    }
  }

  made(): Record<Name, string[]> & { readonly totals?: Record<Name, number> } {
    const isCut = this.names.some((name) => this.totals[name] > this.ids[name].length)
    return isCut ? { ...this.ids, totals: this.totals } : this.ids
  }
}

/** The first call is synchronous. If a call fails, the effects of earlier calls remain. */
export async function inBatches<Name extends string>(
  selection: Selection,
  act: (part: Selection) => Promise<BatchAnswer<Name>>,
  report: Report<Name>,
  clock: Clock,
): Promise<void> {
  let part: Selection | null = firstPart(selection)
  for (let done = 0; ; done += caps.selection) {
    const answer: BatchAnswer<Name> = await act(part)
    report.add(answer)
    part = partAfter(selection, done + caps.selection, answer.next)
    if (part === null) return
    await new Promise<void>((resolve) => clock.nextTurn(resolve))
  }
}

const firstPart = (selection: Selection): Selection =>
  'filter' in selection ? selection : { ids: selection.ids.slice(0, caps.selection) }

function partAfter(selection: Selection, done: number, next: string | undefined): Selection | null {
  if ('filter' in selection) return next === undefined ? null : { ...selection, after: next }
  return done >= selection.ids.length ? null : { ids: selection.ids.slice(done, done + caps.selection) }
}
