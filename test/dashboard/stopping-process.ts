/**
 * A service with a dashboard: on its own port, or mounted in a server of the service (`mounted`). It ends by a signal.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime, defineJob } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'

const job = defineJob({ type: 'work', run: () => {} })
const runtime = createRuntime({ jobs: [job], logger: {} })
await runtime.start()
runtime.stopOn(['SIGTERM'], { mode: 'finish', timeout: '5s' })
const dashboard = createDashboard({ runtime, authorize: () => 'admin' })
if (process.argv[2] === 'mounted') {
  const server = createServer(dashboard.node)
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
  process.on('SIGTERM', () => server.close())
} else {
  const { url } = await dashboard.listen()
  process.send?.(url)
}
process.channel?.unref()
