/** `jobchart doctor`: checks the version of Node, the store, its workers, queues and schedules. */
import type { Command } from 'commander'
import { JobchartError } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { systemClock } from '../../core/clock.ts'
import type { Client, Store } from '../../index.ts'
import type { RepairAnswer } from '../../store.ts'
import { exitCodes } from '../exit-codes.ts'
import type { PostgresAddress, RedisAddress, SqliteAddress } from '../../core/address.ts'
import { storeAddress } from '../address.ts'
import { errorFields } from '../errors.ts'
import { openStore, withClient } from '../open.ts'
import { withStore, type StoreOptions } from '../options.ts'
import type { Program } from '../command.ts'
import { isUnattended, queueRows } from '../queue-rows.ts'
import { counted, grouped } from '../../core/counted.ts'
import { jobs, oneLine, relative } from '../words.ts'

type Level = 'ok' | 'warning' | 'problem'

interface Finding {
  readonly level: Level
  readonly about: string
  readonly what: string
  readonly hint?: string | undefined
}

const marks = { ok: ['green', '✓'], warning: ['yellow', '!'], problem: ['red', '✗'] } as const

export function doctorCommand({ command, terminal, run }: Program): Command {
  return withStore(command('doctor', 'diagnose the store and its workers; problems end with 1'))
    .option(
      '--repair',
      'rebuild counts, indexes and the sequence from the jobs first; other calls may wait or be refused',
    )
    .action((options: DoctorOptions) =>
      run(options, async () => {
        const findings = [...ofProcess(), ...(await ofStore(options))]
        const isWell = findings.every(({ level }) => level !== 'problem')
        if (options.json) await terminal.print(JSON.stringify({ ok: isWell, findings }))
        else {
          for (const { level, about, what, hint } of findings) {
            const [colour, mark] = marks[level]
            await terminal.print(`${terminal.style(colour, mark)} ${about.padEnd(10)} ${oneLine(what)}`)
            if (hint !== undefined) await terminal.print(`             ${hint}`)
          }
        }
        return isWell ? exitCodes.done : exitCodes.finding
      }),
    )
}

const ofProcess = (): Finding[] => [
  { level: 'ok', about: 'jobchart', what: version },
  { level: 'ok', about: 'node', what: `${process.version}, SQLite ${process.versions['sqlite'] ?? 'none'}` },
]

interface DoctorOptions extends StoreOptions {
  readonly repair?: boolean
}

async function ofStore(options: DoctorOptions): Promise<Finding[]> {
  const address = storeAddress(options.store)
  const findings: Finding[] = []
  try {
    findings.push(...(await ofPlace(address, options)))
    // A client needs counts that can be read.
    if (options.repair === true) findings.push(...(await ofRepair(await openStore(options.store))))
    await withClient(options, async (client) => {
      findings.push(...(await ofJobs(client)), ...(await ofUnreadable(client)))
    })
  } catch (error) {
    const { message, hint } = errorFields(error)
    findings.push({ level: 'problem', about: 'store', what: message, hint })
  }
  return findings
}

function ofPlace(address: ReturnType<typeof storeAddress>, options: StoreOptions): Promise<Finding[]> {
  switch (address.kind) {
    case 'redis':
      return ofServer(address)
    case 'postgres':
      return ofDatabase(address)
    case 'sqlite':
      return ofFile(address, options)
  }
}

const kib = (bytes: number): string => `${grouped(Math.ceil(bytes / 1_024))} KiB`

async function ofFile({ path }: SqliteAddress, options: StoreOptions): Promise<Finding[]> {
  await openStore(options.store)
  const { inspectSqliteFile } = await import('../../stores/sqlite/index.ts')
  const { version: fileVersion, bytes, walBytes } = inspectSqliteFile(path)
  const what = `${path}: version ${fileVersion}, ${kib(bytes)}, log ${kib(walBytes)}`
  return [{ level: 'ok', about: 'file', what }]
}

async function ofServer({ url, where }: RedisAddress): Promise<Finding[]> {
  const { inspectRedisServer } = await import('../../stores/redis/index.ts')
  const { version: serverVersion, usedBytes, maxBytes, maxmemoryPolicy, appendOnly } = await inspectRedisServer({ url })
  const memory = `${kib(usedBytes)}${maxBytes > 0 ? ` of ${kib(maxBytes)}` : ''} in use`
  const findings: Finding[] = [{ level: 'ok', about: 'server', what: `${where}: Redis ${serverVersion}, ${memory}` }]
  if (maxBytes > 0 && usedBytes >= maxBytes) {
    const what = 'the memory is full: new jobs are refused'
    findings.push({ level: 'problem', about: 'server', what, hint: 'Raise maxmemory, or let workers end jobs.' })
  }
  if (!appendOnly) {
    const what = 'writes are not appended to a file: if the server fails, jobs since its last snapshot are lost'
    findings.push({ level: 'warning', about: 'server', what, hint: 'Set appendonly yes: docs/redis.md, persistence.' })
  }
  // With a maxmemory the store does not open, which is a problem of its own.
  if (maxBytes === 0 && maxmemoryPolicy.startsWith('allkeys')) {
    const what = `once a maxmemory is set, jobs vanish when the memory is full (${maxmemoryPolicy})`
    findings.push({ level: 'warning', about: 'server', what, hint: 'Set maxmemory-policy noeviction.' })
  }
  return findings
}

/** A transaction that is older than this, ms, holds up the removal of dead rows. */
const oldMs = 300_000
/** So many dead rows, and more than live ones, are a sign that they are not removed. */
const deadRowsMax = 100_000

async function ofDatabase({ url, schema, where }: PostgresAddress): Promise<Finding[]> {
  const { inspectPostgresServer } = await import('../../stores/postgres/index.ts')
  const info = await inspectPostgresServer({ url, ...(schema !== undefined && { schema }) })
  const what = `${where}: PostgreSQL ${info.version}, schema version ${info.schemaVersion ?? 'none'}, ${kib(info.usedBytes)}`
  const findings: Finding[] = [{ level: 'ok', about: 'server', what }]
  const tell = (level: Level, problem: string, hint: string): unknown =>
    findings.push({ level, about: 'server', what: problem, hint })
  if (!info.hasRights)
    tell(
      'problem',
      'this user may not write every table of the schema, or call every function',
      'docs/postgres.md lists the rights of a worker.',
    )
  if (info.missing.length > 0)
    tell(
      'problem',
      `the schema lacks what jobchart has made there: ${listed(info.missing)}`,
      'jobchart migrate --sql, for the name of a schema that is not there, prints how each is made.',
    )
  if (!info.isDurable)
    tell('warning', 'commits are answered before they are on the disk', 'Set fsync and synchronous_commit to on.')
  if (!info.autovacuum) tell('problem', 'dead rows are never removed', 'Set autovacuum to on.')
  if (info.oldestTransactionMs > oldMs)
    tell(
      'warning',
      `a transaction has been open for ${counted(Math.round(info.oldestTransactionMs / 60_000), 'minute')}: no dead row can be removed`,
      'SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start; end it.',
    )
  if (info.deadRows > deadRowsMax && info.deadRows > info.liveRows)
    tell('warning', counted(info.deadRows, 'dead row'), 'Autovacuum does not keep up: docs/postgres.md, vacuum.')
  if (!info.notifies)
    tell(
      'warning',
      'notifications do not arrive: workers look for jobs every few seconds',
      'Is a pooler in the way? Let jobchart connect to the server itself.',
    )
  return findings
}

/** @throws JobchartError UNSUPPORTED */
async function ofRepair(store: Store): Promise<Finding[]> {
  await store.open({ clock: systemClock })
  try {
    return [repairedBy(await store.repair?.(), store.name)]
  } finally {
    await store.close()
  }
}

/** @throws JobchartError UNSUPPORTED */
function repairedBy(answer: RepairAnswer | undefined, name: string): Finding {
  if (answer === undefined) {
    throw new JobchartError('UNSUPPORTED', `the store ${name} has nothing to repair`, {
      hint: 'Leave out --repair.',
    })
  }
  const { jobs: all, counts, restored } = answer
  const back = restored.length === 0 ? '' : `, ${jobs(restored.length)} brought back: ${listed(restored)}`
  const wrong = `${counted(counts, 'count')} ${counts === 1 ? 'was' : 'were'} wrong`
  return { level: 'ok', about: 'repair', what: `rebuilt from ${jobs(all)}; ${wrong}${back}` }
}

async function ofUnreadable({ store }: Client): Promise<Finding[]> {
  const ids = (await store.unreadable?.()) ?? []
  if (ids.length === 0) return []
  const hint = 'jobchart discard ID removes one; doctor --repair brings back those that can be read again.'
  return [{ level: 'problem', about: 'jobs', what: `${jobs(ids.length)} cannot be read: ${listed(ids)}`, hint }]
}

const listed = (ids: readonly string[]): string => `${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ', …' : ''}`

async function ofJobs(client: Client): Promise<Finding[]> {
  const [counts, workers] = [await client.counts(), await client.workers({ inputs: false })]
  const now = client.store.now()
  const lost = workers.filter((worker) => worker.lost)
  const findings: Finding[] = [
    { level: 'ok', about: 'jobs', what: `${jobs(counts.queued)} queued, ${grouped(counts.running)} running` },
    workers.length > lost.length
      ? { level: 'ok', about: 'workers', what: `${grouped(workers.length - lost.length)} active` }
      : {
          level: 'warning',
          about: 'workers',
          what: 'no worker is active',
          hint: 'Start a runtime on this store.',
        },
    ...lost.map(({ name, seenAt }): Finding => ({
      level: 'warning',
      about: 'workers',
      what: `${name} is lost: its last heartbeat was ${relative(seenAt, now)}`,
      hint: 'Its jobs are run by other workers after their leases expire. Check whether it was killed or hangs.',
    })),
  ]
  for (const row of await queueRows(client, workers)) {
    const { type, paused, counts: own } = row
    if (isUnattended(row)) {
      const hint = 'Start a runtime that has this type among its jobs.'
      // What is queued should run now; what is scheduled or waits may need a worker later only.
      const [level, work] =
        own.queued > 0 ? (['problem', `${jobs(own.queued)} queued`] as const) : (['warning', 'work'] as const)
      findings.push({ level, about: 'queue', what: `${type} has ${work}, and no worker runs it`, hint })
    }
    if (paused && own.queued > 0) {
      const hint = `jobchart resume ${type}`
      findings.push({
        level: 'warning',
        about: 'queue',
        what: `${type} is paused with ${jobs(own.queued)} queued`,
        hint,
      })
    }
  }
  return [...findings, ...(await ofTrouble(client, now))]
}

const dayMs = 86_400_000
/** Jobs are counted up to this number for a warning. */
const countMax = 1_000
/** A tick later than this, ms, causes a warning: no runtime fires it. */
const lateMs = 60_000

async function ofTrouble(client: Client, now: number): Promise<Finding[]> {
  const findings: Finding[] = []
  const fields = ['id'] as const
  const dead = await client.list({ state: 'dead', finishedAfter: now - dayMs, limit: countMax, fields })
  if (dead.length > 0) {
    const what = `${dead.next === undefined ? '' : 'more than '}${jobs(dead.length)} died in the last day`
    findings.push({ level: 'warning', about: 'dead', what, hint: 'jobchart ls --state dead --order-by finished' })
  }
  const stranded = await client.list({ unsupported: true, limit: countMax, fields })
  if (stranded.length > 0) {
    const hint =
      'jobchart check FILE says which states they stand in. Start a worker with their version, or give `migrate`.'
    findings.push({ level: 'problem', about: 'machines', what: `no worker can run ${jobs(stranded.length)}`, hint })
  }
  const late = (await client.schedules()).filter(({ nextRuns: [next] }) => next !== undefined && next < now - lateMs)
  for (const { name, nextRuns } of late) {
    const hint = 'Start a runtime on this store; if a function computes the input, one that declares the schedule.'
    findings.push({
      level: 'warning',
      about: 'schedule',
      what: `${name} is late: ${relative(nextRuns[0] ?? null, now)}`,
      hint,
    })
  }
  return findings
}
