/** PostgreSQL servers of our own: each a process on a folder of its own, on a free port. */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { freePort } from './redis-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** The folder of the server's programs: Debian does not put them into the path. */
export const programs = ((): string | null => {
  const given = process.env['JOBCHART_POSTGRES_BIN']
  if (given !== undefined) return given
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(debian, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ?? null
})()

/** The server refuses to run as root: then it runs as the user that its package has made. */
export function owner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const idOf = (option: string): number => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** Where the processes of one run of the tests have the folder of a server that has never run. */
const clustersVariable = 'JOBCHART_POSTGRES_CLUSTERS'

/** For the processes that this one starts. @returns removes it */
export function shareClusters(): () => void {
  const folder = clustersFolder()
  process.env[clustersVariable] = folder.path
  return () => folder.remove()
}

function clustersFolder(): ReturnType<typeof temporaryFolder> {
  const folder = temporaryFolder()
  const { uid, gid } = owner()
  if (uid !== undefined && gid !== undefined) chownSync(folder.path, uid, gid)
  return folder
}

/**
 * The folder of a server that has never run, and a copy of it for one that is to run. Making one takes a second of
 * processor time, copying it a tenth.
 */
function copyNewCluster(to: string): void {
  const shared = process.env[clustersVariable]
  const own = shared === undefined ? clustersFolder() : null
  const folder = own?.path ?? shared ?? ''
  try {
    const data = join(folder, 'data')
    if (!existsSync(data)) makeCluster(data)
    execFileSync('cp', ['-a', data, to])
  } finally {
    own?.remove()
  }
}

function makeCluster(data: string): void {
  const own = `${data}-${process.pid}`
  const options = ['--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C']
  const made = spawnSync(join(programs ?? '', 'initdb'), ['-D', own, ...options], { ...owner(), encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  try {
    renameSync(own, data)
  } catch (error) {
    // Another process has made one meanwhile.
    rmSync(own, { recursive: true })
    if (!existsSync(data)) throw error
  }
}

/** They would live on for a moment, in which no server could take its place. It is stopped, and makes no others. */
async function killConnections(server: number): Promise<void> {
  process.kill(server, 'SIGSTOP')
  const pids = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').split(' ').map(Number)
  for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL')
  while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** One that was killed stays in the list until the server, which is stopped, has asked for it. */
function isAlive(pid: number): boolean {
  try {
    return pid > 0 && !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

export class PostgresServer {
  readonly port: number
  private readonly settings: readonly string[]
  private readonly folder = temporaryFolder()
  private readonly owner = owner()
  private process: ChildProcess | null = null

  constructor(port: number, settings: readonly string[]) {
    this.port = port
    this.settings = settings
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  create(): void {
    const { uid, gid } = this.owner
    if (uid !== undefined && gid !== undefined) chownSync(this.folder.path, uid, gid)
    copyNewCluster(join(this.folder.path, 'data'))
  }

  /** As a standby, which receives what the other one commits: asynchronously. */
  createFrom(primary: PostgresServer): void {
    const { uid, gid } = this.owner
    if (uid !== undefined && gid !== undefined) chownSync(this.folder.path, uid, gid)
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
    const options = ['-D', join(this.folder.path, 'data'), '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
    execFileSync(join(programs ?? '', 'pg_basebackup'), [...from, ...options], { ...this.owner, stdio: 'ignore' })
  }

  async start(): Promise<void> {
    const own = [
      '-D',
      join(this.folder.path, 'data'),
      '-p',
      String(this.port),
      '-h',
      '127.0.0.1',
      '-k',
      this.folder.path,
    ]
    const settings = ['fsync=off', ...this.settings].flatMap((setting) => ['-c', setting])
    this.process = spawn(join(programs ?? '', 'postgres'), [...own, ...settings], { ...this.owner, stdio: 'ignore' })
    for (;;) {
      try {
        await this.query('SELECT 1')
        return
      } catch {
        if (this.process.exitCode !== null) throw new Error(`postgres has ended with ${this.process.exitCode}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  /** Statements of an administrator. */
  async query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows
    } finally {
      await client.end()
    }
  }

  /** SIGKILL: as if its machine had stopped. SIGINT: ends its connections, and itself. */
  async kill(signal: 'SIGKILL' | 'SIGINT' = 'SIGKILL'): Promise<void> {
    const server = this.process
    this.process = null
    if (server === null || server.exitCode !== null) return
    const ended = once(server, 'exit')
    if (signal === 'SIGKILL') await killConnections(server.pid ?? 0)
    server.kill(signal)
    await ended
  }

  async remove(): Promise<void> {
    await this.kill('SIGINT')
    this.folder.remove()
  }
}

/** A standby of a server, which takes no writes before it is promoted. */
export async function standbyOf(primary: PostgresServer): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), [])
  server.createFrom(primary)
  await server.start()
  return server
}

export async function postgresServer(...settings: readonly string[]): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), settings)
  server.create()
  await server.start()
  return server
}
