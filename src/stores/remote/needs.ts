/** What an operation needs that is not loaded yet. */
import { Deferred } from '../../core/cell.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { Selection } from '../../core/source.ts'
import type { CellKind } from './cells.ts'

export type Need =
  | { readonly kind: 'row'; readonly id: string }
  /** The large fields of a row, which `row` may leave out: see `Unloaded`. */
  | { readonly kind: 'data'; readonly id: string }
  | { readonly kind: 'inbox'; readonly id: string }
  | { readonly kind: 'children'; readonly id: string }
  | { readonly kind: 'cell'; readonly cells: CellKind; readonly field: string }
  /** Small values of a kind, without their names; with a limit the first ones by name. */
  | { readonly kind: 'values'; readonly cells: CellKind; readonly limit?: number }
  | { readonly kind: 'timers'; readonly of: Timers; readonly limit: number }
  | { readonly kind: 'counts' }
  | HeadsNeed
  | {
      readonly kind: 'selected'
      readonly selection: Selection
      readonly states: ReadonlySet<JobState>
      /** Only these jobs are looked at. */
      readonly among?: readonly string[]
    }

/** What may be claimed of a type: see `QueueHeads`. `limit` jobs of each concurrency key at most. */
export type HeadsNeed = { readonly kind: 'heads'; readonly type: string; readonly limit: number } & HeadsTold

/**
 * How much of the queued jobs with concurrency keys is told, at least. `first`: those that come first, up to where
 * `limit` of them may be claimed if of each key at most `perKey` jobs are leased · `keys`: of each key the first ones ·
 * `all`: of each key the first `limit`.
 */
export type HeadsTold = { readonly told: 'first'; readonly perKey: number | null } | { readonly told: 'keys' | 'all' }

/** `due`: jobs with a due time · `leases`: leased jobs. */
export type Timers = 'due' | 'leases'

/** Thrown by a source; its driver loads what is needed and runs the operation again. */
export class NotLoaded extends Error {
  override readonly name = 'NotLoaded'
  readonly needs: readonly Need[]

  constructor(needs: readonly Need[]) {
    super(`not loaded: ${needs.map(({ kind }) => kind).join(', ')}`)
    this.needs = needs
  }
}

/** A large field that a row has and that was not loaded with it. */
export class Unloaded<T> extends Deferred<T> {
  private readonly id: string

  constructor(id: string) {
    super()
    this.id = id
  }

  /** @throws NotLoaded */
  get(): never {
    throw new NotLoaded([{ kind: 'data', id: this.id }])
  }
}
