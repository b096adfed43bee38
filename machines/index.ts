/** Every chart of the house by name; docs, pictures and tests iterate it. */
import { jobMachine } from './job.machine.ts'
import { runtimeMachine } from './runtime.machine.ts'

export const machines = { job: jobMachine, runtime: runtimeMachine } as const
