/** What `jobchart/testing` offers: virtual time, and tools to prove a store. */
export { seededRandom } from '../core/clock.ts'
export { storeConformance, type ConformanceOptions, type Subject } from './conformance/index.ts'
export {
  faultyStore,
  type FaultCounts,
  type FaultPlan,
  type Faults,
  type FaultyStore,
  type FaultyStoreOptions,
  type StoreOperation,
} from './faulty-store.ts'
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
  type RecordedCalls,
  type RecordedOperation,
  type Violation,
} from './history/index.ts'
export { createTestRuntime, type TestRuntime, type TestRuntimeOptions } from './test-runtime.ts'
export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
