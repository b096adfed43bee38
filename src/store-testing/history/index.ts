/** Histories: recorded calls of a store with their answers, and a check against the guarantees of stores. */
export {
  checkHistory,
  finalState,
  type CheckHistoryOptions,
  type HistoryFigures,
  type HistoryVerdict,
} from './check.ts'
export type { FinalState } from './facts.ts'
export { historyFile, readHistory, type HistoryFile } from './file.ts'
export type { HistoryLine, HistorySink, RecordedCalls, RecordedOperation } from './lines.ts'
export type { Loss } from './losses.ts'
export { recordingStore, recordRuns } from './recording-store.ts'
export { invariants, type Invariant, type Violation } from './violation.ts'
