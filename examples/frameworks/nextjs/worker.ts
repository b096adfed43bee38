/** The jobs run in a process beside the server: `npm run worker`. */
import { createRuntime } from 'jobchart'
import { order, store } from './order.ts'

const runtime = createRuntime({ jobs: [order], store })
await runtime.start()
runtime.stopOn(['SIGTERM', 'SIGINT'], { timeout: '20s' })
