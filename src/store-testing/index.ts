/** The entry `jobchart/store-testing` for authors of stores: the conformance suite, and histories of calls. */
import '../core/node-version.ts'
export { storeConformance, type ConformanceOptions, type Subject } from './conformance/index.ts'
export {
  checkHistory,
  finalState,
  historyFile,
  invariants,
  readHistory,
  recordingStore,
  recordRuns,
  type CheckHistoryOptions,
  type FinalState,
  type HistoryFigures,
  type HistoryFile,
  type HistoryLine,
  type HistorySink,
  type HistoryVerdict,
  type Invariant,
  type Loss,
  type RecordedCalls,
  type RecordedOperation,
  type Violation,
} from './history/index.ts'
