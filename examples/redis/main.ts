// A producer and two workers, each a process, share one Redis server: `npm run example:redis`. They could be on several
// hosts.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { redisForExample } from './server.ts'

const server = await redisForExample()
if (server === null) {
  console.log('There is no Redis server at 127.0.0.1:6379, and redis-server is not installed.')
  console.log('Install it (apt-get install redis-server), or set REDIS_URL.')
} else {
  // A prefix of its own: nothing else on the server is touched.
  const prefix = `example-${process.pid}`
  const start = (file: string): ChildProcess => fork(new URL(file, import.meta.url), [server.url, prefix])
  const workers = [start('worker.ts'), start('worker.ts')]
  await once(start('producer.ts'), 'exit')
  for (const worker of workers) {
    worker.kill('SIGTERM')
    await once(worker, 'exit')
  }
  console.log('the workers have stopped')
  server.stop()
}
