// The worker runs the orders. It knows nothing of browsers.
import { createRuntime } from 'jobchart'
import { order, store } from './order.ts'

const runtime = createRuntime({ jobs: [order], store: store() })
await runtime.start()
runtime.stopOn(['SIGTERM', 'SIGINT'])
