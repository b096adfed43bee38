/** What `jobchart/testing` offers: virtual time, and tools to prove a store. */
export { seededRandom } from '../clock.ts'
export { createTestRuntime, type TestRuntime, type TestRuntimeOptions } from './test-runtime.ts'
export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts'
