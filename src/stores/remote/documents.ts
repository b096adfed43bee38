/** A port as what the core runs over: documents are loaded into working sets, and transactions committed. */
import { caps } from '../../core/caps.ts'
import { inSequence, selectionAfter, selectionEnd, selectionRange } from '../../core/cursor.ts'
import { isEnded } from '../../core/lifecycle.ts'
import type { Answer, Hint } from '../../store.ts'
import { cellName } from './cells.ts'
import { commitOf, hintsOf } from './commit.ts'
import { LoadedDocument, withLastCheckpoint } from './document.ts'
import type { Server, Written } from './driver.ts'
import { countsFrom } from './figures.ts'
import type { Need } from './needs.ts'
import type { PlainWrite } from './plain.ts'
import type { Loaded, StorePort, Wanted } from './port.ts'
import type { Transaction } from './transaction.ts'
import { selectionName, type WorkingSet } from './working-set.ts'

export class DocumentServer implements Server {
  readonly name: string
  private readonly port: StorePort
  private readonly tell: (hints: readonly Hint[]) => void
  /** Types of which a hand-over was refused here: they wait for a slot, which a job of any type may free. */
  readonly waiting = new Set<string>()
  /** Has a commit failed since the last one that did not? It may have been carried out, and its hints are not known. */
  private hasFailed = false

  constructor(port: StorePort, tell: (hints: readonly Hint[]) => void) {
    this.name = port.name
    this.port = port
    this.tell = tell
  }

  get epoch(): string {
    return this.port.epoch?.() ?? ''
  }

  now(): number {
    return Math.floor(this.port.now())
  }

  async load(needs: readonly Need[], into: WorkingSet): Promise<void> {
    const wanted = new Map<string, Wanted>()
    const loads: Promise<void>[] = []
    for (const need of needs) {
      if (need.kind === 'counts') loads.push(this.loadCounts(into))
      else if (need.kind === 'selected') loads.push(this.select(need, into))
      else {
        const each = wantedOf(need)
        wanted.set(JSON.stringify(each), each)
      }
    }
    // Together: if one fails, the others may fail, too, and each must have been awaited.
    if (wanted.size > 0) loads.push(this.loadAll([...wanted.values()], into))
    await Promise.all(loads)
  }

  private async loadAll(wanted: readonly Wanted[], into: WorkingSet): Promise<void> {
    await this.port.load(wanted, loadedInto(into))
  }

  /** Carries out a write of the port, and notes if that has failed. */
  private async written<T>(write: () => Answer<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      this.hasFailed = true
      throw error
    }
  }

  /** Carries out a write of plain jobs, and tells of it. */
  async carry<T>(write: () => Answer<PlainWrite<T> | null>): Promise<T | null> {
    const outcome = await this.written(write)
    if (outcome === null) return null
    this.tell([...outcome.hints, ...this.missed()])
    return outcome.answer
  }

  private missed(): Hint[] {
    if (!this.hasFailed) return []
    this.hasFailed = false
    return [{ kind: 'missed' }]
  }

  private async loadCounts(into: WorkingSet): Promise<void> {
    into.counts = countsFrom((await this.port.figures()).byType)
  }

  /** The page of a selection by filter. */
  private async select(need: Need & { readonly kind: 'selected' }, into: WorkingSet): Promise<void> {
    const { selection, states, among } = need
    const { filter, after, limit = caps.selection } = selection
    const from = among === undefined ? selectionRange(after, 0).after : null
    const {
      documents,
      more,
      next: early,
      last,
    } = await this.port.find({
      by: 'enqueued',
      newestFirst: false,
      filter,
      states,
      after: from,
      limit: Math.min(limit, caps.selection),
      ...(among && { among }),
    })
    const range = selectionRange(after, last)
    const { until } = range
    const found = documents.filter(({ seq, state, lastSeq }) => seq <= until && !(isEnded(state) && lastSeq > until))
    for (const document of found) loadedInto(into).row(document.id, document)
    const end = early?.number ?? documents.at(-1)?.seq
    const next = more && end !== undefined && end <= until ? inSequence(end) : null
    into.selections.set(selectionName(selection, among), {
      ids: found.map(({ id }) => id),
      next: among === undefined ? selectionAfter(next, range) : (after ?? null),
      end: selectionEnd(range),
    })
  }

  async commit(transaction: Transaction): Promise<Written | readonly string[]> {
    const { changes, cells, hints, set } = transaction
    const isNothing = changes.isEmpty && cells.size === 0 && hints.length === 0
    if (isNothing && !set.believed) {
      this.tell(this.missed())
      return { base: 0, rowOf: () => null }
    }
    const commit = commitOf(transaction)
    const base = await this.written(() => this.port.commit(commit))
    if (typeof base !== 'number') return base
    const writes = commit.writes(base)
    this.tell([...hintsOf(writes, transaction), ...this.missed()])
    for (const { type, isHandOver } of changes.refusals) if (type !== null && isHandOver) this.waiting.add(type)
    const isApart = this.port.earlierCheckpoints !== undefined
    const after = new Map(writes.jobs.map((job) => [job.id, job.after]))
    return {
      base,
      rowOf({ id }) {
        const document = after.get(id) ?? null
        if (document === null) return null
        return new LoadedDocument(isApart ? withLastCheckpoint(document) : document)
      },
    }
  }
}

type Simple = Exclude<Need, { readonly kind: 'counts' | 'selected' }>

function wantedOf(need: Simple): Wanted {
  if (need.kind === 'data' || need.kind === 'inbox') return { kind: 'row', id: need.id }
  // One more than the operation changes: an answer tells when the next one is due.
  return need.kind === 'timers' ? { ...need, limit: need.limit + 1 } : need
}

/** Hints with those of the types that wait for room. @param waiting is emptied if there is any */
export function withWaiting(hints: readonly Hint[], waiting: Set<string>): readonly Hint[] {
  if (waiting.size === 0 || !hints.some(({ kind }) => kind === 'room')) return hints
  const types = [...waiting]
  waiting.clear()
  return [...hints, ...types.map((type): Hint => ({ kind: 'room', type }))]
}

export const loadedInto = (set: WorkingSet): Loaded => ({
  row(id, document) {
    // The inbox of a row that is believed may be asked for: if it is not as it was, neither is the row.
    if (!set.inboxes.has(id)) set.inboxes.set(id, document?.inbox ?? [])
    if (!set.rows.has(id)) set.rows.set(id, document === null ? null : new LoadedDocument(document))
  },
  children: (id, ids) => void set.children.set(id, ids),
  cell: (cells, field, value) => void set.cells.set(cellName(cells, field), value),
  values: (cells, values) => void set.values.set(cells, values),
  timers: (of, limit, found) => void set.timers.set(of, { limit, found }),
  heads: (type, heads) => void set.heads.set(type, heads),
})
