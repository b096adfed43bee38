/** A trace goes through the store: one process enqueues, another one runs. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startChild } from '../harness/processes.ts'
import { canStartPostgres, postgresOfFile } from '../support/postgres-server.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { SaidSpan } from './traced-shop.ts'

const server = serverOfFile()
const postgres = postgresOfFile()
const program = new URL('traced-shop.ts', import.meta.url)

const addresses: Readonly<Record<string, () => string>> = {
  sqlite: () => {
    const folder = temporaryFolder()
    onTestFinished(() => folder.remove())
    return join(folder.path, 'jobs.db')
  },
  redis: () => server().url,
  postgres: () => postgres().url,
}

test.for(Object.keys(addresses))('one trace in two processes: %s', async (name, { skip }) => {
  if ((name === 'redis' && !canStartRedis) || (name === 'postgres' && !canStartPostgres)) skip()
  const address = addresses[name]!()
  const worker = startChild(program, 'worker', address)
  onTestFinished(() => void worker.process.kill('SIGKILL'))
  expect(await worker.heard()).toBe('ready')
  const client = startChild(program, 'client', address)
  onTestFinished(() => void client.process.kill('SIGKILL'))
  const asked = (await client.heard()) as SaidSpan[]
  await client.ended()
  worker.tell('stop')
  const done = (await worker.heard()) as SaidSpan[]
  await worker.ended()
  const all = [...asked, ...done]
  const nameOf = (id: string | undefined): string | undefined => all.find((span) => span.id === id)?.name
  const tree = all.map(({ name: own, parent, links, outcome }) => [own, nameOf(parent), links.map(nameOf), outcome])
  const sorted = (rows: readonly unknown[][]): string[] => rows.map((row) => JSON.stringify(row)).toSorted()
  expect(sorted(tree)).toEqual(
    sorted([
      ['request', undefined, [], undefined],
      ['send order', 'request', [], undefined],
      ['process order', 'send order', [], 'parked'],
      ['checkpoint order', 'process order', [], undefined],
      ['checkpoint order', 'process order', [], undefined],
      ['send email', 'process order', [], undefined],
      ['process email', 'send email', [], 'done'],
      ['process order', undefined, ['send order'], 'done'],
    ]),
  )
  expect(new Set(all.map(({ trace }) => trace)).size).toBe(2)
})
