/**
 * Claims: which jobs of a type are claimed under its pause, caps and rate limit, and the reason if there are fewer than
 * asked for.
 */
import type { ClaimRequest, Demand, RateLimit, Shortfall } from '../../store.ts'
import { claimJob, claimRoom, shortfallOf, type ClaimSource } from '../../core/claim.ts'
import { demandUnder, termsAfter } from '../../core/key-terms.ts'
import type { JobMachine } from '../../core/job-row.ts'
import type { PackedStep, RowValues } from '../sql/columns.ts'
import { historyOf } from '../sql/history.ts'
import type { KeptOfMachine } from '../sql/machine.ts'
import { valuesOf } from '../sql/row.ts'
import type { JobFile } from './job-file.ts'
import { before } from './key-groups.ts'
import type { Queue } from './queue.ts'
import { freeAt, freeClaims, spend } from './rate.ts'
import type { Row } from './row-cache.ts'

/** What a job has of a machine, as it leaves the engine. */
export interface ClaimedMachine extends KeptOfMachine {
  readonly machine: Omit<JobMachine, 'checkpointAt'>
}

export interface ClaimedRow {
  readonly values: RowValues
  readonly type: string
  readonly kept: ClaimedMachine | null
  readonly steps: readonly PackedStep[]
}

/** The rows after the claim. */
export interface ClaimedRows {
  readonly jobs: readonly ClaimedRow[]
  readonly shortfalls: readonly Shortfall[]
  /** Ids of jobs that were set aside since the last claim. */
  readonly unreadable: readonly string[]
}

export function claim(file: JobFile, request: ClaimRequest): ClaimedRows {
  const jobs: ClaimedRow[] = []
  const shortfalls: Shortfall[] = []
  for (const own of request.demand) {
    const queue = file.queues.known(own.type)
    if (queue !== undefined && !queue.paused) {
      file.queues.setKeyTerms(queue, termsAfter(queue.keyTerms, own, request.startedAt, file.now))
    }
    const demand = queue === undefined ? own : demandUnder(queue.keyTerms, own)
    const source = queue && new QueueSource(file, queue, demand)
    const claimed = source === undefined ? [] : claimFrom(source, demand, request)
    jobs.push(...claimed)
    if (claimed.length < demand.max) shortfalls.push(shortfallOf(demand, source))
  }
  return { jobs, shortfalls, unreadable: file.cache.unreadable.splice(0) }
}

class QueueSource implements ClaimSource {
  readonly file: JobFile
  readonly queue: Queue
  private readonly demand: Demand

  constructor(file: JobFile, queue: Queue, demand: Demand) {
    this.file = file
    this.queue = queue
    this.demand = demand
  }

  freeClaims(rate: RateLimit): number {
    return freeClaims(this.file, this.queue, rate)
  }

  freeAt(rate: RateLimit): number {
    return freeAt(this.file, this.queue, rate)
  }

  hasOpenKey(): boolean {
    const { file, queue, demand } = this
    file.writer.write()
    return (
      !queue.keyed ||
      readyRows(file, queue, 1).length > 0 ||
      file.keyGroups.first(queue, demand, file.now) !== undefined
    )
  }

  keysFreeAt(): number | null {
    return this.file.keyGroups.limitedUntil(this.queue, this.demand)
  }
}

function claimFrom(source: QueueSource, demand: Demand, request: ClaimRequest): ClaimedRow[] {
  const { file, queue } = source
  // Key groups are read from the table.
  if (queue.keyed || queue.clock !== null || demand.keyShares === true) file.writer.write()
  file.keyGroups.begin(queue, demand, file.now)
  const room = claimRoom(demand, source)
  if (room <= 0) return []
  const plain = readyRows(file, queue, room)
  const given: ClaimedRow[] = []
  if (!queue.keyed && queue.clock === null) {
    for (const row of plain) given.push(claimRow(file, row, demand, request))
  } else {
    for (let next = 0; given.length < room;) {
      const row = firstOf(plain[next], firstOfKeys(file, queue, demand))
      if (row === undefined) break
      if (row === plain[next]) next++
      file.keyGroups.charge(queue, row, demand, file.now)
      given.push(claimRow(file, row, demand, request))
    }
  }
  const { rate } = demand.limits
  if (rate !== null) spend(file, queue, rate, given.length)
  return given
}

/** Since when the first job of a queue is queued, whatever its key; null if none is. */
export function queuedSince(file: JobFile, type: string): number | null {
  const queue = file.queues.known(type)
  if (queue === undefined) return null
  const hasKeyGroups = queue.keyed || queue.clock !== null
  if (!hasKeyGroups) {
    file.rows.write()
    const head = file.sql.get('headOfQueue', queue.number)
    if (head === undefined) return null
    const [seq, moved, enqueuedAt] = head
    // Most have made no other transition: then the row itself is not read.
    if (seq === moved) return enqueuedAt
  }
  const [plain] = readyRows(file, queue, 1)
  const first = hasKeyGroups ? firstOf(plain, rowOfKey(file, queue, file.keyGroups.firstOfAll(queue))) : plain
  return first === undefined ? null : movedAt(first)
}

/** The first queued jobs that belong to no key group. */
const readyRows = (file: JobFile, queue: Queue, limit: number): Row[] =>
  queue.hasKeyGroup(null) ? [] : file.rows.ready(queue, limit)

function firstOf(a: Row | undefined, b: Row | undefined): Row | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return before(a.priority, a.place, [b.priority, b.place]) ? a : b
}

function rowOfKey(file: JobFile, queue: Queue, key: string | undefined): Row | undefined {
  return key === undefined ? undefined : file.rows.firstOfKey(queue, key)
}

function firstOfKeys(file: JobFile, queue: Queue, demand: Demand): Row | undefined {
  file.writer.write()
  return rowOfKey(file, queue, file.keyGroups.first(queue, demand, file.now))
}

/** When a row made its last transition. */
const movedAt = (row: Row): number =>
  row.lastSeq === row.seq ? row.enqueuedAt : (historyOf(row, row.history).at(-1)?.at ?? row.enqueuedAt)

function claimRow(file: JobFile, row: Row, demand: Demand, request: ClaimRequest): ClaimedRow {
  const { unit, machines } = file
  const steps = machines.stepsOf(row)
  const queuedAt = movedAt(row)
  if (row.worker !== request.worker) row.nameWorkers()
  claimJob(unit, row, demand, queuedAt, request)
  return { values: valuesOf(row), type: row.type, kept: keptOf(file, row), steps }
}

function keptOf({ machines }: JobFile, row: Row): ClaimedMachine | null {
  const { machine } = row
  if (machine === null) return null
  const { checkpointAt: _, ...others } = machine
  return { machine: others, checkpoint: machines.checkpointState(row), inbox: machines.inbox(row) }
}
