/** The dashboard of a file, in a process of its own: `dashboard.ts <path>` answers its address. */
import { createClient } from '../../src/index.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { sqliteStoreAt } from '../harness/stores.ts'

const [path] = process.argv.slice(2) as [string]

process.on('disconnect', () => process.exit())
const client = createClient({ store: await sqliteStoreAt(path) })
const { url } = await createDashboard({ client }).listen()
process.send?.(url)
