/**
 * All there is to know of a machine job in the end: its record, its checkpoints, its children, what was asked of it and
 * what it did.
 */
import type { CheckpointEntry, JobRecord, Store } from 'jobchart'
import { readHistory } from 'jobchart/store-testing'
import { callsOf } from '../../../src/store-testing/history/lines.ts'
import type { StormOptions } from '../command.ts'
import { machineJobs } from './jobs.ts'
import { noLedger, readLedgers, type LedgerLine } from './ledger.ts'
import type { Memory } from './parts.ts'
import { machineTaskOf, type MachineTask } from './plan.ts'

/** A checkpoint with what the machine remembered there. */
export interface Stand extends Pick<CheckpointEntry, 'number' | 'seq' | 'at' | 'note'> {
  readonly memory: Memory
}

export interface Evidence {
  readonly task: MachineTask
  /** null: it was pruned, or is lost. */
  readonly record: JobRecord | null
  readonly stands: readonly Stand[]
  readonly children: readonly JobRecord[]
  /** Its lines in the ledgers, and of its actors, in the order of time. */
  readonly lines: readonly LedgerLine[]
  /** Of its messages, by key, how often they were acknowledged as new. */
  readonly kept: ReadonlyMap<string, number>
  /** Checkpoints that were acknowledged. */
  readonly acknowledged: readonly { readonly number: number; readonly seq: number }[]
  /** So long may a machine that lives not have heard of a message, or what it has decided not be done. */
  readonly leaseMs: number
  /** How often its cancel was asked for. */
  readonly cancels: number
}

export interface Messages {
  kept: number
  duplicate: number
}

interface Told {
  readonly kept: Map<string, number>
  readonly acknowledged: { readonly number: number; readonly seq: number }[]
  cancels: number
}

export class Archive {
  readonly messages: Messages = { kept: 0, duplicate: 0 }
  private readonly store: Store
  private readonly options: StormOptions
  private readonly records: ReadonlyMap<string, JobRecord>
  private readonly children = new Map<string, JobRecord[]>()
  private readonly lines = new Map<string, LedgerLine[]>()
  private readonly told = new Map<string, Told>()
  private readonly jobs = machineJobs(noLedger).byKind

  /** @param records of all jobs there are */
  constructor(store: Store, options: StormOptions, folder: string, records: readonly JobRecord[]) {
    this.store = store
    this.options = options
    this.records = new Map(records.map((record) => [record.id, record]))
    for (const record of records) {
      if (record.parent !== null) listIn(this.children, record.parent.id).push(record)
    }
    for (const line of readLedgers(folder)) listIn(this.lines, line.key.split('/')[0] ?? '').push(line)
    this.read(folder)
  }

  async *all(): AsyncIterable<Evidence> {
    for (let n = 0; n < this.options.machines; n++) yield this.evidence(machineTaskOf(n, this.options))
  }

  private async evidence(task: MachineTask): Promise<Evidence> {
    const { id, kind } = task
    const told = this.of(id)
    const host = this.jobs.get(kind)?.machine
    const stands = (await this.store.checkpoints(id)).map(({ state, ...stand }): Stand => {
      return { ...stand, memory: host?.viewAt(state).context as unknown as Memory }
    })
    const lines = (this.lines.get(id) ?? []).toSorted((a, b) => a.at - b.at)
    const record = this.records.get(id) ?? null
    const { leaseMs } = this.options
    return { task, record, leaseMs, stands, children: this.children.get(id) ?? [], lines, ...told }
  }

  private of(id: string): Told {
    let told = this.told.get(id)
    if (told === undefined) this.told.set(id, (told = { kept: new Map(), acknowledged: [], cancels: 0 }))
    return told
  }

  private read(folder: string): void {
    for (const call of callsOf(readHistory(`${folder}/history`))) {
      if (call.op === 'send') {
        call.asked.forEach(({ id, key }, i) => {
          const outcome = call.answer?.[i]?.outcome
          if (outcome !== 'kept' && outcome !== 'duplicate') return
          this.messages[outcome]++
          const { kept } = this.of(id)
          if (outcome === 'kept') kept.set(key, (kept.get(key) ?? 0) + 1)
        })
      } else if (call.op === 'checkpoint') {
        call.asked.forEach(({ id, checkpoint: { number } }, i) => {
          const answered = call.answer?.[i]
          if (answered === undefined || answered.outcome === 'lost') return
          this.of(id).acknowledged.push({ number, seq: answered.seq })
        })
      } else if (call.op === 'cancel') {
        for (const { ids } of call.asked) for (const id of ids) this.of(id).cancels++
      }
    }
  }
}

function listIn<T>(map: Map<string, T[]>, key: string): T[] {
  let list = map.get(key)
  if (list === undefined) map.set(key, (list = []))
  return list
}
