// Test what your jobs do in an hour, in milliseconds: time stands still until you let it pass, and chance is seeded.
//
// prints:
//   a reminder waits for its hour
//   a flaky mail server is tried again after 1, 2 and 4 minutes
//   a job that hangs is timed out after ten minutes
//   77 virtual minutes took less than a real one
import assert from 'node:assert/strict'
import { defineJob, exponential, TimeoutError } from 'jobchart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'

const clock = new VirtualClock()

const remind = defineJob<{ to: string }, string>({
  type: 'remind',
  retry: { maxAttempts: 4, backoff: exponential({ base: '1m', jitter: false }) },
  attemptTimeout: '10m',
  run: async ({ to }, { attempt, maxAttempts, signal }) => {
    if (to === 'flaky@example.com' && attempt < maxAttempts) throw new Error('421 try again later')
    if (to === 'hanging@example.com') await clock.sleep('1d', signal)
    return `reminded ${to} at attempt ${attempt}`
  },
})

const { runtime } = await createTestRuntime({ jobs: [remind], clock })
const [startedAt, reallyStartedAt] = [clock.now(), performance.now()]

const later = await runtime.enqueue(remind, { to: 'ada@example.com' }, { delay: '1h' })
await clock.advance('59m')
assert.equal((await later.record()).state, 'scheduled')
await clock.advance('1m')
assert.equal(await later.result(), 'reminded ada@example.com at attempt 1')
console.log('a reminder waits for its hour')

const flaky = await runtime.enqueue(remind, { to: 'flaky@example.com' })
await clock.advance('7m')
assert.equal(await flaky.result(), 'reminded flaky@example.com at attempt 4')
const { errors, enqueuedAt } = await flaky.record()
assert.deepEqual(
  errors.map(({ failedAt }) => (failedAt - enqueuedAt) / 60_000),
  [0, 1, 3],
)
console.log('a flaky mail server is tried again after 1, 2 and 4 minutes')

const hanging = await runtime.enqueue(remind, { to: 'hanging@example.com' })
await clock.advance('10m')
const { state, error } = await hanging.record()
assert.equal(state, 'retrying')
assert.equal(error?.name, TimeoutError.name)
console.log('a job that hangs is timed out after ten minutes')

await runtime.cancel(hanging.id)
await runtime.stop()
assert.ok(performance.now() - reallyStartedAt < 60_000)
console.log(`${(clock.now() - startedAt) / 60_000} virtual minutes took less than a real one`)
