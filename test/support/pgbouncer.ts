/** PgBouncers of our own before a server: each a process on a free port. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { owner, type PostgresServer } from './postgres-process.ts'
import { freePort } from './redis-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Why none can be started here; null = one can. */
export const missingPgbouncer = ((): string | null => {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'no PgBouncer is installed: apt-get install --no-install-recommends pgbouncer'
  }
})()

export interface Pgbouncer {
  readonly url: string
  /** Another one takes its place, on the same port. */
  restart(): Promise<void>
  remove(): Promise<void>
}

/**
 * @param size connections to the server
 * @param of what a client has one for: a transaction, or as long as it is connected
 */
export async function pgbouncer(
  server: PostgresServer,
  size: number,
  of: 'transaction' | 'client' = 'transaction',
): Promise<Pgbouncer> {
  const port = await freePort()
  const folder = temporaryFolder()
  chmodSync(folder.path, 0o755)
  const [settings, users] = [join(folder.path, 'pgbouncer.ini'), join(folder.path, 'users.txt')]
  writeFileSync(users, '"postgres" ""\n')
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
${of === 'transaction' ? 'pool_mode = transaction' : ''}
default_pool_size = ${size}
max_client_conn = 500
`,
  )
  const url = server.url.replace(String(server.port), String(port))
  let process = await started(settings, url)
  return {
    url,
    async restart() {
      await ended(process)
      process = await started(settings, url)
    },
    async remove() {
      await ended(process)
      folder.remove()
    },
  }
}

async function started(settings: string, url: string): Promise<ChildProcess> {
  const { Client } = await import('pg')
  const process = spawn('pgbouncer', [settings], { ...owner(), stdio: 'ignore' })
  for (;;) {
    const client = new Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return process
    } catch {
      if (process.exitCode !== null) throw new Error(`pgbouncer has ended with ${process.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null) return
  const exit = once(process, 'exit')
  process.kill('SIGKILL')
  await exit
}
