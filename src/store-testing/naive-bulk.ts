/** The bulk operations of the naive store: an array, and for each batch a look at all jobs. */
import { caps } from '../core/caps.ts'
import type * as contract from '../store.ts'
import { is } from './naive-jobs.ts'
import { NaiveSchedules } from './naive-schedules.ts'

interface Operation {
  record: contract.BulkOperation
  /** The number of the enqueue of the last job that was reached. */
  after: number
  /** The number of the last transition when it was requested. */
  readonly until: number
}

export class NaiveBulk extends NaiveSchedules {
  private operations: Operation[] = []

  startBulk({ leaseMs, keep = 'always', ...request }: contract.StartBulk): contract.BulkAnswer {
    const there = this.operations.find(({ record }) => record.id === request.id)
    if (there) return { outcome: 'known', operation: there.record, jobs: {}, transitions: [] }
    const running = this.operations.filter(({ record }) => record.state === 'running')
    const fresh = { counts: {}, cursor: null, requestedAt: this.time, endedAt: null, error: null }
    const record = { ...request, ...fresh, state: 'running', leaseUntil: this.time + leaseMs } as const
    const operation: Operation = { record, after: 0, until: this.log.length }
    const isShort = keep === 'unfinished' && this.matching(operation).length <= request.batchSize
    if (running.length >= caps.bulkRunning && !isShort) {
      return { outcome: 'full', operation: null, jobs: {}, transitions: [] }
    }
    if (!isShort) this.operations.push(operation)
    return this.batch(operation)
  }

  advanceBulk({ id, token, leaseMs }: contract.AdvanceBulk): contract.BulkAnswer {
    const operation = this.operations.find(({ record }) => record.id === id)
    if (!operation) return { outcome: 'notFound', operation: null, jobs: {}, transitions: [] }
    const { record } = operation
    if (record.state !== 'running') return { outcome: 'ended', operation: record, jobs: {}, transitions: [] }
    if (record.token !== token && record.leaseUntil > this.time) {
      return { outcome: 'leasedElsewhere', operation: record, jobs: {}, transitions: [] }
    }
    operation.record = { ...record, token, leaseUntil: this.time + leaseMs }
    return this.batch(operation)
  }

  stopBulk({ id, error }: contract.StopBulk): contract.BulkOperation | null {
    const operation = this.operations.find(({ record }) => record.id === id)
    if (operation?.record.state === 'running') this.endBulk(operation, error === null ? 'stopped' : 'failed', error)
    return operation?.record ?? null
  }

  listBulk(only?: 'running'): contract.BulkOperation[] {
    const wanted = this.operations.map(({ record }) => record).filter(({ state }) => !only || state === only)
    return wanted.toSorted((a, b) => b.requestedAt - a.requestedAt || (a.id < b.id ? 1 : -1))
  }

  override rescue(limit: number): contract.SweepAnswer {
    const answer = super.rescue(limit)
    const abandoned = this.listBulk('running').filter(({ leaseUntil }) => leaseUntil <= this.time)
    const bulk = abandoned.map(({ id }) => id).toReversed()
    return bulk.length === 0 ? answer : { ...answer, bulk }
  }

  /** The jobs that it has not reached yet, in their order. */
  private matching(operation: Operation) {
    const { change, filter } = operation.record
    const eligible = {
      retry: ['dead', 'cancelled'],
      discard: ['done', 'dead', 'cancelled'],
      cancel: ['scheduled', 'queued', 'running', 'retrying', 'waiting', 'cancelling'],
    }[change.kind]
    const matching = this.jobs.filter(
      (job) =>
        this.matches(job, filter) &&
        eligible.includes(job.record.state) &&
        job.seq > operation.after &&
        job.seq <= operation.until &&
        !(is('ended', job) && (job.record.history.at(-1)?.seq ?? 0) > operation.until),
    )
    return matching.toSorted((a, b) => a.seq - b.seq)
  }

  private batch(operation: Operation): contract.BulkAnswer {
    const { change, batchSize, counts } = operation.record
    const inOrder = this.matching(operation)
    const batch = inOrder.slice(0, batchSize)
    operation.after = batch.at(-1)?.seq ?? operation.until
    const ids = batch.map(({ record }) => record.id)
    const { transitions, jobs } = this.applyBulk(change, ids)
    const sums = Object.entries(jobs).map(([name, ids]) => [name, (counts[name as 'retried'] ?? 0) + ids.length])
    const positive = Object.fromEntries(sums.filter(([, count]) => count !== 0)) as contract.BulkOperation['counts']
    operation.record = { ...operation.record, counts: { ...counts, ...positive } }
    if (batch.length === inOrder.length) {
      operation.record = { ...operation.record, state: 'done', endedAt: this.time }
      if (this.operations.includes(operation)) this.endBulk(operation, 'done', null)
    }
    return { outcome: 'advanced', operation: operation.record, jobs, transitions }
  }

  private applyBulk(
    change: contract.BulkChange,
    ids: readonly string[],
  ): Pick<contract.BulkAnswer, 'jobs' | 'transitions'> {
    if (change.kind === 'retry') {
      const { retried, refused, transitions } = this.retry(ids, change.fromStart, change.dropInbox)
      return { jobs: { retried, refused }, transitions }
    }
    if (change.kind === 'discard') return { jobs: { discarded: this.discard(ids).discarded }, transitions: [] }
    const [answer] = this.cancel([{ ids, reason: change.reason, graceMs: change.graceMs }])
    const { cancelled = [], cancelling = [], transitions = [] } = answer ?? {}
    return { jobs: { cancelled, cancelling }, transitions }
  }

  private endBulk(operation: Operation, state: contract.BulkState, error: contract.StopBulk['error']): void {
    operation.record = { ...operation.record, state, error, endedAt: this.time }
    const ended = this.operations.filter(({ record }) => record.state !== 'running' && record !== operation.record)
    const latest = ended.toSorted(
      ({ record: a }, { record: b }) => (b.endedAt ?? 0) - (a.endedAt ?? 0) || (a.id < b.id ? 1 : -1),
    )
    const gone = new Set(latest.slice(caps.bulkEnded - 1))
    this.operations = this.operations.filter((each) => !gone.has(each))
  }
}
