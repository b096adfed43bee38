/** The rolling deployment of docs/deployments.md, step by step, with two versions at once, in processes. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient, type Client } from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { isLong } from '../../harness/long-form.ts'
import { plainEnvironment } from '../../support/plain-environment.ts'
import { canStartPostgres, postgresOfFile } from '../../support/postgres-server.ts'
import { canStartRedis, serverOfFile } from '../../support/redis-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { runCommand } from '../cli/command-line.ts'
import { jobs } from './jobs-2.ts'
import type { Told } from './member.ts'

const redis = serverOfFile()
const postgres = postgresOfFile()
const addresses = {
  sqlite: (folder: string) => `sqlite:${join(folder, 'jobs.db')}`,
  redis: () => redis().url,
  postgres: () => postgres().url,
} as const

const jobsFile = fileURLToPath(new URL('jobs-2.ts', import.meta.url))

/** A process of the deployment. */
class Member {
  private readonly child: ChildProcess
  private readonly words: string[] = []

  constructor(...args: readonly string[]) {
    const options = { env: plainEnvironment, execArgv: [] }
    this.child = fork(new URL('member.ts', import.meta.url), args, options)
    this.child.on('message', (word) => this.words.push(word as string))
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  async heard(word: string): Promise<void> {
    while (this.words.length === 0 && this.child.exitCode === null) {
      await Promise.race([once(this.child, 'message'), once(this.child, 'exit')])
    }
    expect(this.words.shift()).toBe(word)
  }

  async tell(told: Told): Promise<void> {
    this.child.send(told)
    await this.heard('done')
  }

  /** @returns the exit code */
  async terminated(): Promise<number | null> {
    const exit = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await exit
    return this.child.exitCode
  }
}

const started = async (role: 'worker' | 'web', version: '1' | '2', store: string): Promise<Member> => {
  const member = new Member(role, version, store)
  await member.heard('ready')
  return member
}

const named = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`)

/** Where all of these orders stand. */
const standing = async (client: Client, ids: readonly string[]): Promise<string[]> => {
  const records = await client.list({ type: 'order' })
  const where = new Map(records.map(({ id, machineStates, state }) => [id, machineStates.join() || state]))
  return [...new Set(ids.map((id) => where.get(id) ?? 'lost'))]
}

/** In the short form on a store in the process, and on one over a round trip. */
const tried = isLong ? (['sqlite', 'redis', 'postgres'] as const) : (['sqlite', 'postgres'] as const)

test.for(tried)(
  'two versions run side by side, the old one ends by SIGTERM, and every order is shipped: %s',
  async (name, { skip }) => {
    if ((name === 'redis' && !canStartRedis) || (name === 'postgres' && !canStartPostgres)) skip()
    const folder = temporaryFolder()
    onTestFinished(() => folder.remove())
    const store = addresses[name](folder.path)
    const cli = (...args: string[]) => runCommand(folder.path, { JOBCHART_STORE: store }, ...args)
    const stand = (client: Client, ids: readonly string[], where: string) =>
      expect.poll(() => standing(client, ids), { timeout: 30_000 }).toEqual([where])

    const oldWorker = await started('worker', '1', store)
    const oldWeb = await started('web', '1', store)
    const [unpaid, paid] = [named('unpaid', 5), named('paid', 5)]
    await oldWeb.tell({ act: 'enqueue', ids: [...unpaid, ...paid] })
    await oldWeb.tell({ act: 'send', ids: paid, type: 'PAID' })
    await using client = createClient({ jobs, store, logger: {} })
    await stand(client, paid, 'packing')

    expect(await cli('check', jobsFile)).toMatchObject({ code: 0 })

    const newWorker = await started('worker', '2', store)
    const newWeb = await started('web', '2', store)
    const [oldOnes, newOnes] = [named('old', 5), named('new', 5)]
    await oldWeb.tell({ act: 'enqueue', ids: oldOnes })
    await newWeb.tell({ act: 'enqueue', ids: newOnes })
    await oldWeb.tell({ act: 'send', ids: oldOnes, type: 'PAID' })
    await newWeb.tell({ act: 'send', ids: newOnes, type: 'PAID' })
    await stand(client, newOnes, 'labelling')
    expect(await cli('check', jobsFile, '--migrate')).toMatchObject({ code: 1 })

    expect([await oldWeb.terminated(), await oldWorker.terminated()]).toEqual([0, 0])
    expect(await cli('check', jobsFile, '--migrate')).toMatchObject({ code: 0 })
    await newWeb.tell({ act: 'send', ids: unpaid, type: 'PAID' })
    const all = [...unpaid, ...paid, ...oldOnes, ...newOnes]
    await newWeb.tell({ act: 'send', ids: all, type: 'LABELLED' })
    await newWeb.tell({ act: 'send', ids: all, type: 'PACKED' })
    await stand(client, all, 'shipped')

    expect(await client.counts()).toMatchObject({ done: all.length, waiting: 0, running: 0, queued: 0, dead: 0 })
    expect(await client.list({ unsupported: true })).toEqual([])
    expect((await client.workers()).map(({ name: own, lost }) => [own, lost])).toEqual([['worker-2', false]])
    expect(await cli('doctor')).toMatchObject({ code: 0 })
    expect([await newWeb.terminated(), await newWorker.terminated()]).toEqual([0, 0])
  },
)
