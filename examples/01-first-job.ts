// A first job: define it, start a runtime, enqueue it, wait for its result.
//
// prints:
//   the input was refused: INVALID_INPUT
//   Hello, Ada!
//   Hello, Grace!
//   done after 1 of 3 attempts
import { createRuntime, defineJob, JobchartError } from 'jobchart'
import { z } from 'zod'

const greet = defineJob({
  type: 'greet', // its queue has the same name
  input: z.object({ name: z.string() }),
  run: async ({ name }) => `Hello, ${name}!`,
})

const runtime = createRuntime({ jobs: [greet] })
await runtime.start()

// The schema types the input, and refuses at the door what gets past the types.
await runtime.enqueue(greet, JSON.parse('{ "nome": "Ada" }')).catch((error) => {
  if (error instanceof JobchartError) console.log(`the input was refused: ${error.code}`)
})

// Enqueue and wait …
console.log(await runtime.run(greet, { name: 'Ada' }))

// … or keep the handle, and look later.
const job = await runtime.enqueue(greet, { name: 'Grace' })
console.log(await job.result())

const { state, attempt, maxAttempts } = await job.record()
console.log(`${state} after ${attempt} of ${maxAttempts} attempts`)

await runtime.stop()
