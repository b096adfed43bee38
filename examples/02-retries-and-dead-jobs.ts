// What fails is tried again. What fails for good is kept as a dead job: to be looked at, repaired and sent through
// again.
//
// prints:
//   invoice 1: paid at attempt 3
//   invoice 2: dead after 3 attempts, the bank is closed
//   invoice 3: dead after 1 attempts, no such account
//   the errors of invoice 2: BANK_CLOSED BANK_CLOSED BANK_CLOSED
//   invoice 2: paid at attempt 1
import { createRuntime, defineJob, exponential, fatal } from 'jobchart'

let bankIsOpen = false

const pay = defineJob<{ invoice: number }, string>({
  type: 'pay',
  retry: { maxAttempts: 3, backoff: exponential({ base: '5ms', max: '1s' }) },
  run: async ({ invoice }, { attempt }) => {
    if (invoice === 1 && attempt < 3) throw new Error('connection reset')
    if (invoice === 2 && !bankIsOpen) throw Object.assign(new Error('the bank is closed'), { code: 'BANK_CLOSED' })
    if (invoice === 3) throw fatal(new Error('no such account')) // another attempt would make no sense
    return `paid at attempt ${attempt}`
  },
})

const runtime = createRuntime({ jobs: [pay] })
await runtime.start()

for (const invoice of [1, 2, 3]) {
  const job = await runtime.enqueue(pay, { invoice })
  try {
    console.log(`invoice ${invoice}: ${await job.result()}`)
  } catch {
    const { state, attempt, error } = await job.record()
    console.log(`invoice ${invoice}: ${state} after ${attempt} attempts, ${error?.message}`)
  }
}

// Every attempt's error is kept with the job.
for (const { id, errors } of await runtime.list({ type: 'pay', state: 'dead' })) {
  if (errors.some(({ error }) => error.code !== 'BANK_CLOSED')) continue
  console.log('the errors of invoice 2:', errors.map(({ error }) => error.code).join(' '))

  bankIsOpen = true
  await runtime.retry(id) // or all at once: runtime.retry({ type: 'pay', state: 'dead' })
  const job = await runtime.job(id)
  console.log('invoice 2:', await job?.result())
}

await runtime.stop()
