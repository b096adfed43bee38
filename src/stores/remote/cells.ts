/** Small values that operations read and write under the condition that they are what they were. */
import type { WorkerInfo } from '../../store.ts'

/**
 * `holders`: the job that holds a unique key · `predecessors`: the live job that has given it up · `schedules` by name
 * · `paused` by type · `intents` of committed transactions of users, by number ·
 * `fences`: the jobs whose leases they end, by id and number · `bulk` and `bulk-ended`: bulk operations by id, those
 * that run and those that have ended · `failure-merges`, all of them as one. The first two follow from rows, and are
 * written with them; operations write the others. Of stores without a claim of their own also: `claims`, what was
 * claimed of a type and what limits its claims · `retention`: policies by type · `workers` by id.
 */
export type CellKind =
  | 'holders'
  | 'predecessors'
  | 'schedules'
  | 'paused'
  | 'intents'
  | 'fences'
  | 'bulk'
  | 'bulk-ended'
  | 'claims'
  | 'retention'
  | 'workers'
  | 'failure-merges'

/** The name of a unique key of a type. */
export const keyName = (type: string, key: string): string => JSON.stringify([type, key])

export const cellName = (cells: CellKind, field: string): string => `${cells} ${field}`

/** A registered worker; they are listed in the order in which they have registered. */
export interface KnownWorker {
  readonly number: number
  readonly info: WorkerInfo
  readonly seenAt: number
}

export const workerFrom = (text: string): KnownWorker => JSON.parse(text) as KnownWorker
