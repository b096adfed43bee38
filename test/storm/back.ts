/** How soon workers work again when the server of their store is back: read from the histories of their calls. */
import { join } from 'node:path'
import { readHistory, type HistoryLine } from 'jobchart/store-testing'
import type { Broken } from '../harness/report.ts'

/** A worker that was there when the server was back. Wall times, ms. */
export interface Witness {
  readonly name: string
  /** When the server was back. */
  readonly from: number
  /** When the worker ended or was disturbed, or the server was away again; Infinity as long as that is to come. */
  until: number
}

export interface Back {
  readonly broken: readonly Broken[]
  /** How many workers were there for long enough to work again. */
  readonly seen: number
  /** After how long the slowest of them had its first answer. */
  readonly slowestMs: number
}

/** Within this of the server's return a worker has an answer to a call. */
export const backMs = 5_000

/** @param folder of the histories, in which each worker has a file of its name */
export function judgeBack(witnesses: readonly Witness[], folder: string): Back {
  const broken: Broken[] = []
  let [seen, slowestMs] = [0, 0]
  for (const [name, ofWorker] of Map.groupBy(witnesses, ({ name }) => name)) {
    const answeredAt = [...readHistory(join(folder, `${name}.ndjson`))].filter(isAnswer).map(({ at }) => at)
    for (const { from, until } of ofWorker) {
      const first = answeredAt.find((at) => at >= from && at <= until)
      const tookMs = (first ?? Math.max(from, until)) - from
      if (first !== undefined) seen++
      if (first !== undefined) slowestMs = Math.max(slowestMs, tookMs)
      if (tookMs <= backMs) continue
      const message = `${name} had no answer for ${Math.round(tookMs)} ms after its server was back`
      broken.push({ promise: 'back', message, evidence: [] })
    }
  }
  return { broken, seen, slowestMs }
}

/** Is it an answer of the store? Runs and steps are recorded by handlers. */
const isAnswer = (line: HistoryLine): boolean => 'ok' in line && line.op !== 'run' && line.op !== 'step'
