/** How long the answers to the questions of every screen of the dashboard take. */
import { createClient } from '../../src/index.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { NotVerified } from '../harness/ledger.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { screenJobs } from './screens-fill.probe.ts'

export interface ScreensParams {
  readonly location: StoreLocation
  /** So many times each path is asked for. */
  readonly times: number
}

export interface ScreenTimes {
  /** Without the ids, which differ from run to run. */
  readonly path: string
  readonly wallMs: readonly number[]
  /** CPU time of each answer, of all threads. */
  readonly cpuMs: readonly number[]
}

interface Jobs {
  readonly jobs: readonly { readonly id: string }[]
  readonly next: string | null
}

/** @throws NotVerified if any path is refused */
export async function measure({ location, times }: ScreensParams): Promise<readonly ScreenTimes[]> {
  const client = createClient({ jobs: screenJobs, store: await storeAt(location), logger: {} })
  const dashboard = createDashboard({ client })
  const ask = async (route: string): Promise<Response> => {
    const response = await dashboard.fetch(new Request(`http://localhost/api/v1${route}`))
    if (response.status !== 200) throw new NotVerified(`${route} was answered with ${response.status}`)
    return response
  }
  const measured: ScreenTimes[] = []
  for (const route of await routes(async (list) => (await (await ask(list)).json()) as Jobs)) {
    const wallMs: number[] = []
    const cpuMs: number[] = []
    for (let i = 0; i < times; i++) {
      const cpuBefore = process.cpuUsage()
      const startedAt = performance.now()
      await (await ask(route)).arrayBuffer()
      wallMs.push(performance.now() - startedAt)
      const { user, system } = process.cpuUsage(cpuBefore)
      cpuMs.push((user + system) / 1_000)
    }
    measured.push({ path: nameOf(route), wallMs, cpuMs })
  }
  await client.close()
  return measured
}

const nameOf = (route: string): string =>
  route
    .replace(/(jobs\/|job=|failure=|failures\/)(?!nothing|count)[\w-]{16,}/, '$1…')
    .replace(/after=~\w+/, 'after=…')
    .replace(/After=\d+/, 'After=…')

async function routes(list: (route: string) => Promise<Jobs>): Promise<readonly string[]> {
  const [plain, order, group, middle] = await Promise.all([
    list('/jobs?limit=1'),
    list('/jobs?type=order&limit=1'),
    list('/failures?limit=1').then(({ groups }: Partial<Failures> & Jobs) => groups?.[0]?.fingerprint ?? ''),
    list('/jobs?type=image.resize&limit=1'),
  ])
  const job = (found: Jobs): string => found.jobs[0]?.id ?? ''
  const lately = Date.now() + 60_000
  const lists = [
    '',
    'after=' + (middle.next ?? ''),
    ...['email.send', 'audit', 'order'].map((type) => `type=${type}`),
    'type=audit&type=order',
    ...['queued', 'scheduled', 'retrying', 'waiting', 'running', 'done', 'dead', 'cancelled'].map(
      (state) => `state=${state}`,
    ),
    'state=dead&state=cancelled',
    'state=queued&state=scheduled&state=retrying&state=waiting',
    'type=audit&state=done',
    'type=row.import&state=dead',
    'type=row.import&state=retrying',
    'type=image.resize&state=queued',
    ...['tenant-7', 'customer', 'audited', 'nothing'].map((tag) => `tag=${tag}`),
    'tag=customer&state=dead',
    'tag=nightly&type=row.import&state=dead',
    ...['payment', 'review', 'nothing'].map((state) => `machineState=${state}`),
    'machineState=review&state=waiting&type=order',
    'machineTag=person',
    `failure=${group}`,
    `failure=${group}&state=dead&type=row.import`,
    `failure=${group}&orderBy=finished&limit=1`,
    ...['key', 'concurrencyKey', 'parent', 'failure'].map((key) => `${key}=nothing`),
    `enqueuedAfter=${lately}`,
    `enqueuedAfter=${lately}&state=dead`,
    `state=dead&finishedAfter=${lately}`,
    'state=dead&orderBy=finished',
  ]
  return [
    '',
    '/overview',
    '/activity?period=hour&last=7d',
    ...['email.send', 'row.import', 'order'].map((type) => `/queues/${type}`),
    '/queues/email.send/activity',
    '/queues/order/heat?period=week',
    ...lists.map((query) => `/jobs?${query}${query.includes('limit') ? '' : '&limit=50'}`),
    ...['state=dead', 'type=email.send', 'tag=customer', 'tag=tenant-7'].map((query) => `/jobs/count?${query}`),
    `/jobs/${job(plain)}`,
    `/jobs/${job(order)}`,
    '/failures?limit=1000',
    '/failures?type=row.import',
    `/failures/${group}?type=row.import`,
    ...['tenant-7', 'customer', 'mailbox', 'review', 'nothing'].map((text) => `/find?text=${text}`),
    '/trouble',
    '/workers',
    '/schedules',
    '/bulk',
    '/charts',
    '/charts/job.svg',
    '/charts/job.svg?type=email.send',
    `/charts/job.svg?job=${job(plain)}`,
    '/charts/machine.svg?type=order',
    '/charts/machine.svg?type=order&heat=day',
    `/charts/machine.svg?job=${job(order)}`,
  ]
}

interface Failures {
  readonly groups: readonly { readonly fingerprint: string }[]
}
