/** Cancels, retries and discards of many jobs: in calls of a bounded size, with a turn of the event loop between two of them. */
import { caps } from '../core/caps.ts'
import type { Clock } from '../core/clock.ts'
import type { Selection } from '../store.ts'

/** What became of the jobs of one call: lists of ids, and where the next call goes on. */
export type BatchAnswer<Name extends string> = { readonly [name in Name]: readonly string[] } & {
  readonly next?: string
}

/** The lists of all calls, each with its first ids, and how many there were. */
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

/** The first call is made at once. If one fails, what was done before stays done. */
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
