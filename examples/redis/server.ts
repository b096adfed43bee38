// A Redis server for the example: the one that runs already, or one of its own.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Server {
  readonly url: string
  stop(): void
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/** Null if there is none, and `redis-server` is not installed. */
export async function redisForExample(): Promise<Server | null> {
  const { REDIS_URL } = process.env
  if (REDIS_URL !== undefined) return { url: REDIS_URL, stop() {} }
  if (await answers(6379)) return { url: 'redis://127.0.0.1:6379', stop() {} }
  if (spawnSync('redis-server', ['--version']).status !== 0) return null
  const port = 16_379
  const folder = mkdtempSync(join(tmpdir(), 'jobchart-redis-'))
  const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''])
  while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 20))
  const stop = (): void => {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  return { url: `redis://127.0.0.1:${port}`, stop }
}
