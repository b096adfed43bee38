/**
 * What a store of documents must do. `remoteStore` makes a whole store of it: the operations of the core decide, over
 * documents that were loaded, and what comes out is committed under the condition that these are still as they were.
 * Each method may answer at once or by a promise, and rejects with JobchartError STORE_UNAVAILABLE if the store cannot
 * be reached. Several processes may use one store, if `commit` is atomic.
 *
 * A store keeps: documents of jobs by id (`JobDocument`, plain JSON) · small values by kind and field · figures by type
 * (`TypeFigures`, plain JSON) · the log, of which it may remove the oldest entries · the number of the last transition.
 */
import type { Position } from '../../core/cursor.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type {
  Answer,
  FoundTerms,
  Hint,
  JobFilter,
  ListOrder,
  Store,
  StoreCapabilities,
  TermQuery,
  Transition,
  TransactionStore,
} from '../../store.ts'
import type { CheckpointEntry } from '../../core/machine-record.ts'
import type { CellKind } from './cells.ts'
import type { Commit } from './commit.ts'
import type { JobDocument } from './document.ts'
import type { EndedFacts, EndedQuery } from './ended.ts'
import type { TypeFigures } from './figures.ts'
import type { HeadsNeed } from './needs.ts'
import type { PlainWrites } from './plain.ts'
import type { QueueHeads, Timed } from './working-set.ts'

/** What is to be loaded. Answers of indexes are hints: a commit does not depend on them. */
export type Wanted =
  | { readonly kind: 'row'; readonly id: string }
  /** The ids of the jobs that have this one as their parent. */
  | { readonly kind: 'children'; readonly id: string }
  | { readonly kind: 'cell'; readonly cells: CellKind; readonly field: string }
  /** All of a kind, or with a limit the first ones by field. */
  | { readonly kind: 'values'; readonly cells: CellKind; readonly limit?: number }
  /** The first jobs by their due times (those that have one), or by the ends of their leases. */
  | { readonly kind: 'timers'; readonly of: 'due' | 'leases'; readonly limit: number }
  /** The queued jobs of a type by concurrency key, `limit` of each at most. Rows of some may be told with them. */
  | HeadsNeed

/** Takes what was loaded: one call for each that was wanted. */
export interface Loaded {
  row(id: string, document: JobDocument | null): void
  children(id: string, ids: readonly string[]): void
  cell(cells: CellKind, field: string, value: string | null): void
  values(cells: CellKind, values: readonly string[]): void
  timers(of: 'due' | 'leases', limit: number, found: Timed): void
  heads(type: string, heads: QueueHeads): void
}

/** A search for jobs in an order. */
export interface FindQuery {
  /** By the numbers of their enqueues, of their ends (only ended ones), or by due time (only those with one). */
  readonly by: ListOrder
  readonly newestFirst: boolean
  /** Only those that match: see `matches`. */
  readonly filter: JobFilter
  readonly states: ReadonlySet<JobState>
  /** Only these jobs; default all. */
  readonly among?: readonly string[]
  /** Those after this position: see `positionIn`. */
  readonly after: Position | null
  readonly limit: number
}

export interface Found {
  readonly documents: readonly JobDocument[]
  /** May there be more? */
  readonly more: boolean
  /** Where to go on if there may be more: of a search that ended early. Default: behind the last document. */
  readonly next?: Position | null
  /** The number of the last transition, as of the search or before. */
  readonly last: number
}

export interface FoundIds extends Pick<Found, 'last'> {
  readonly ids: readonly string[]
  /** Where to go on; null: there are no more. */
  readonly next: Position | null
}

export interface LogPage {
  readonly entries: readonly Transition[]
  /**
   * The number of the first entry that is kept, or one after it from which on none is missing; one more than the last
   * one, if none is kept.
   */
  readonly first: number
  /** The number of the last entry; 0 if there was none. A reader that is ahead of it has seen what is there no more. */
  readonly last: number
}

export interface StorePort {
  /** For messages. */
  readonly name: string
  readonly capabilities: StoreCapabilities
  open(options: Parameters<Store['open']>[0]): Answer<void>
  close(): Answer<void>
  /**
   * Which run of the server this is, as far as is known. After another one has begun, rows may come to the revisions
   * that they had, by other ways: a commit of an earlier epoch is then answered with the name `epoch`. Default: always
   * the same.
   */
  epoch?(): string
  /** The store's time, ms since the epoch: an estimate is enough. */
  now(): number
  /** Loads what is wanted, together. */
  load(wanted: readonly Wanted[], into: Loaded): Answer<void>
  /** As `load`, for what users read: it holds up no commit, and has all that was committed before. Default: `load`. */
  read?(wanted: readonly Wanted[], into: Loaded): Answer<void>
  /** Of each type the queued job that comes first, by priority, then by place. Default: told by its heads. */
  firstQueued?(types: readonly string[]): Answer<readonly (string | null)[]>
  /**
   * Carries out a commit in one atomic step, if `staleOf` names nothing: writes documents, cells and log entries, and
   * folds the figures (`foldFigures`).
   * @returns the number of its first transition; or the names of what is stale, or held: see `Commit.waits`
   */
  commit(commit: Commit): Answer<number | readonly string[]>
  /**
   * The checkpoints of a job before the last one, by rising numbers. A port that has this keeps them apart, and answers
   * documents with the last one alone: those of a commit may have others before it, which are to be kept. If the first
   * of a document has number n, those kept apart from n on are forgotten: the job has begun anew. Default: documents
   * have all.
   */
  earlierCheckpoints?(id: string): Answer<readonly CheckpointEntry[]>
  find(query: FindQuery): Answer<Found>
  /** The ids of what `find` would answer, without documents; null: by `find`. Default: by `find`. */
  findIds?(query: FindQuery): Answer<FoundIds | null>
  /** Finds what retention looks at, without the documents. Default: by `find`. */
  ended?(query: EndedQuery): Answer<readonly EndedFacts[]>
  /** As `Store.terms`. Default: the store has none. */
  terms?(query: TermQuery): Promise<FoundTerms>
  /** The figures of every type that has ever had a job. With the number of the last transition that they have. */
  figures(): Answer<{ readonly byType: ReadonlyMap<string, TypeFigures>; readonly last: number }>
  /** Entries of the log with a number greater than `after`, in order. */
  log(after: number, limit: number): Answer<LogPage>
  /**
   * Writes in transactions of users. Intents are kept as small values of the kind `intents`, by numbers of 20 digits,
   * each a `KeptIntents`. The store carries them out.
   */
  readonly transactions?: Omit<TransactionStore, 'carryOut' | 'synchronous'>
  /** Writes of plain jobs by ways of its own, where that is faster. Default: by the core, which loads and commits. */
  readonly plain?: PlainWrites
  /** Tells other processes. */
  tell?(hints: readonly Hint[]): void
  /** Hears of other processes. @returns ends it */
  watch?(listener: (hint: Hint) => void): () => void
  /** For a minute at least, ends are among these: see `Store.watchEnds`. */
  watchEnds?(): void
}
