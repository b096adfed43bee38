// A worker runs what it claims until it is told to stop.
import { createRuntime } from 'jobchart'
import { store, thumbnail } from './jobs.ts'

const runtime = createRuntime({ jobs: [thumbnail], store: store() })
await runtime.start()
runtime.stopOn(['SIGTERM'])
