import type { NewJob } from '../../src/store.ts'

/** A job of type `job` for the insert of a store, with nothing special about it. */
export const newJob = (id: string): NewJob => ({
  id,
  type: 'job',
  input: null,
  priority: 0,
  maxAttempts: 3,
  tags: [],
  concurrencyKey: null,
  runAt: null,
  delayMs: 0,
  key: null,
  onConflict: 'keep',
})
