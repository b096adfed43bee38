/** A Redis cluster of three servers, and a server with a replica and a Sentinel: each of our own, on free ports. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, program, redisServer, RedisServer } from './redis-process.ts'
import { temporaryFolder } from './temporary-folder.ts'

const host = '127.0.0.1'
const slots = 16_384

/** Asks until the answer is as wanted. */
async function until(ask: () => Promise<unknown>, wanted: (answer: string) => boolean): Promise<void> {
  while (!wanted(String(await ask().catch(() => '')))) await new Promise((resolve) => setTimeout(resolve, 20))
}

export interface RedisCluster {
  readonly servers: readonly RedisServer[]
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  remove(): Promise<void>
}

export async function redisCluster(): Promise<RedisCluster> {
  const servers: RedisServer[] = []
  const busPorts: number[] = []
  for (let i = 0; i < 3; i++) {
    const busPort = await freePort()
    busPorts.push(busPort)
    servers.push(await redisServer('--cluster-enabled', 'yes', '--cluster-port', String(busPort)))
  }
  for (const [i, server] of servers.entries()) {
    const [from, to] = [i, i + 1].map((n) => Math.floor((n * slots) / servers.length))
    await server.command('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to! - 1))
    for (const [n, other] of servers.entries()) {
      if (n !== i) await server.command('CLUSTER', 'MEET', host, String(other.port), String(busPorts[n]))
    }
  }
  for (const server of servers) {
    await until(
      () => server.command('CLUSTER', 'INFO'),
      (info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3'),
    )
  }
  return {
    servers,
    nodes: servers.map(({ port }) => ({ host, port })),
    async remove() {
      for (const server of servers) await server.remove()
    },
  }
}

export interface WatchedServers {
  readonly name: string
  readonly sentinel: { readonly host: string; readonly port: number }
  readonly master: RedisServer
  readonly replica: RedisServer
  /** Resolves when the replica has all that the master has. */
  caughtUp(): Promise<void>
  remove(): Promise<void>
}

/** A server and its replica, which takes its place when it has not answered for half a second. */
export async function watchedServers(...settings: readonly string[]): Promise<WatchedServers> {
  const name = 'jobs'
  const master = await redisServer(...settings)
  const replica = await redisServer(...settings, '--replicaof', `${host} ${master.port}`)
  const folder = temporaryFolder()
  const port = await freePort()
  const configuration = join(folder.path, 'sentinel.conf')
  writeFileSync(
    configuration,
    [
      `port ${port}`,
      `bind ${host}`,
      `dir ${folder.path}`,
      `sentinel monitor ${name} ${host} ${master.port} 1`,
      `sentinel down-after-milliseconds ${name} 500`,
      `sentinel failover-timeout ${name} 5000`,
    ].join('\n'),
  )
  const sentinel: ChildProcess = spawn(program, [configuration, '--sentinel'], { stdio: 'ignore' })
  const watcher = new RedisServer(port, [])
  await until(
    () => watcher.command('SENTINEL', 'REPLICAS', name),
    (replicas) => replicas.includes(String(replica.port)) && replicas.includes('master-link-status,ok'),
  )
  const offset = async (server: RedisServer): Promise<string> =>
    /^(?:master|slave)_repl_offset:(\d+)/m.exec(String(await server.command('INFO', 'replication')))?.[1] ?? ''
  return {
    name,
    sentinel: { host, port },
    master,
    replica,
    async caughtUp() {
      const wanted = Number(await offset(master))
      await until(
        () => offset(replica),
        (reached) => Number(reached) >= wanted,
      )
    },
    async remove() {
      const ended = once(sentinel, 'exit')
      sentinel.kill('SIGKILL')
      await ended
      await master.remove()
      await replica.remove()
      folder.remove()
    },
  }
}
