/** What `jobchart/testing` offers: virtual time, and a store that fails on purpose. */
export { seededRandom } from '../core/clock.ts'
/** For authors of stores; its home is `jobchart/store-testing`. */
export { storeConformance, type ConformanceOptions, type Subject } from '../store-testing/conformance/index.ts'
export {
  faultyStore,
  type FaultCounts,
  type FaultPlan,
  type Faults,
  type FaultyStore,
  type FaultyStoreOptions,
  type StoreOperation,
} from './faulty-store.ts'
export { createTestRuntime, type TestRuntime, type TestRuntimeOptions } from './test-runtime.ts'
export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
