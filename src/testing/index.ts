/** The exports of `jobchart/testing`: virtual time, and a fault-injecting store. */
import '../core/node-version.ts'
export { seededRandom } from '../core/clock.ts'
export {
  faultyStore,
  type FaultCounts,
  type FaultPlan,
  type Faults,
  type FaultyStore,
  type FaultyStoreOptions,
  type StoreOperation,
} from './faulty-store.ts'
export { recordLives, replayLives, type ReplayReport } from '../core/lives.ts'
export type { Divergence, RecordedLife } from '../core/recorded-life.ts'
export { createTestRuntime, type TestRuntime, type TestRuntimeOptions } from './test-runtime.ts'
export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
