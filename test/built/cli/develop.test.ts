/** Commands for development and operation; wrong usage, exit codes and help of all. */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createClient } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, test } from 'vitest'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { version } from '../../../src/core/version.ts'
import { workerInfo } from '../../../src/store-testing/conformance/acts.ts'
import { commandLine, moduleAt, runProgram } from './command-line.ts'

const { run, runIn, runProcess, onCopy, folder } = commandLine()
const jobsFile = moduleAt('jobs.ts')

async function portInUse(): Promise<{ readonly port: number; readonly close: () => void }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}

test.concurrent.for([
  ['ls', '--type', 'email.send', '--json'],
  ['draw', `${jobsFile}#order`],
  ['cancel'],
  ['show', 'nobody'],
  ['--help'],
])('a process of its own ends with the same as one that runs all commands: %j', async (args, { expect: that }) => {
  const ended = await runProcess(...args)
  that(ended).toEqual(await run(...args))
  that(ended.stdout + ended.stderr).not.toBe('')
})

test.concurrent('a program that ends without an exit code, such as an empty file, passes for no command', async () => {
  const program = pathToFileURL(join(folder(), 'empty.js'))
  writeFileSync(program, '')
  await expect(runProgram(program, folder(), {}, 'ls')).rejects.toThrow('it has ended without an exit code')
  await expect(runProgram(new URL('none.js', program), folder(), {}, 'ls')).rejects.toThrow('none.js')
  expect(await run('--version')).toMatchObject({ code: 0 })
})

test.concurrent('draw writes a chart in each format', async () => {
  expect((await run('draw', `${jobsFile}#machine`)).stdout).toContain('▸ review #human')
  expect((await run('draw', `${jobsFile}#order`, '-f', 'mermaid')).stdout).toContain('review --> paid: APPROVE')
  expect((await run('draw', `${jobsFile}#order`, '-f', 'dot')).stdout).toContain('digraph')
  expect(JSON.parse((await run('draw', `${jobsFile}#order`, '--json')).stdout)).toMatchObject({ id: 'order' })
  const file = join(folder(), 'order.svg')
  expect(await run('draw', `${jobsFile}#order`, '-f', 'svg', '-o', file)).toMatchObject({ code: 0, stdout: '' })
  expect(readFileSync(file, 'utf8')).toMatch(/^<svg /)
  const { code, stderr } = await run('draw', `${jobsFile}#none`)
  expect(code).toBe(exitCodes.usage)
  expect(stderr).toContain('It exports: machine, order.')
})

test.concurrent('check passes definitions that are durable, also against the jobs of the store', async () => {
  const { code, stdout } = await run('check', jobsFile)
  expect(code).toBe(0)
  expect(stdout).toContain('✓ order: machine 1 is durable')
  expect(stdout).toContain('✓ every job of the store can go on')
  expect(stdout).toContain('- the store has jobs of other types: bulk')
})

test.concurrent('check lists what is wrong with a machine, place by place', async () => {
  const { code, stdout } = await run('check', moduleAt('jobs-wrong.ts'), '--json')
  expect(code).toBe(exitCodes.finding)
  const { ok, findings } = JSON.parse(stdout) as {
    ok: boolean
    findings: { place: string; what: string; hint: string }[]
  }
  expect(ok).toBe(false)
  expect(findings.map(({ place, what }) => `${place}: ${what}`)).toEqual([
    'wrong.a, entry: the action tellAda is not implemented',
    'wrong.a, after soon: the delay soon is not implemented',
  ])
  expect(findings[0]?.hint).toContain('setup({ actions')
})

test.concurrent('check counts the jobs that a new version cannot go on with, state by state', async () => {
  const { code, stdout } = await run('check', moduleAt('jobs-2.ts'))
  expect(code).toBe(exitCodes.finding)
  expect(stdout).toContain('✗ 3 jobs of order 1 stand in `review`: version 2 cannot go on with them')
  expect(stdout).toContain('state order.review is gone')
  const { stranded } = JSON.parse((await run('check', moduleAt('jobs-2.ts'), '--json')).stdout)
  expect(stranded).toMatchObject([
    {
      type: 'order',
      version: '1',
      currentVersion: '2',
      states: ['review'],
      count: 3,
      ids: ['order-0', 'order-1', 'order-2'],
    },
  ])
  expect(await runIn({}, 'check', moduleAt('jobs-2.ts'))).toMatchObject({ code: 0 })
})

test.concurrent(
  'check --migrate lists parked jobs under the states of the new machines, and records those that cannot go on',
  async () => {
    const onFile = onCopy()
    const next = moduleAt('jobs-3.ts')
    expect((await onFile('check', next)).stdout).toContain('3 jobs are listed under states of their old machine')
    expect((await onFile('ls', '--machine-state', 'asked', '--json')).stdout).not.toContain('order-1')
    const migrated = await onFile('check', next, '--migrate', '--json')
    expect(migrated.code).toBe(exitCodes.done)
    expect(JSON.parse(migrated.stdout)).toMatchObject({ reindexed: { found: 3, unsupported: 0, written: true } })
    expect((await onFile('ls', '--machine-state', 'asked', '--json')).stdout).toContain('order-1')
    expect((await onFile('check', next)).stdout).not.toContain('old machine')
    const wrong = await onFile('check', moduleAt('jobs-2.ts'), '--migrate')
    expect(wrong).toMatchObject({
      code: exitCodes.finding,
      stdout: expect.stringContaining('3 recorded as unsupported'),
    })
    expect((await onFile('show', 'order-1', '--json')).stdout).toContain('"tries":0')
  },
)

test.concurrent('check --migrate is refused while workers of another version are at work', async () => {
  const file = join(folder(), 'at-work.db')
  copyFileSync(join(folder(), 'jobs.db'), file)
  const store = sqliteStore({ path: file })
  await store.open({ clock: systemClock })
  await store.worker('w1', workerInfo('w1', { name: 'eu-1', types: ['order'], definitions: { order: 'another one' } }))
  const onFile = (...args: string[]) => runIn({ JOBCHART_STORE: `sqlite:${file}` }, ...args)
  const next = moduleAt('jobs-3.ts')
  expect(await onFile('check', next, '--migrate')).toMatchObject({
    code: exitCodes.finding,
    stderr: expect.stringContaining('eu-1: still at work with another machine of order') as string,
  })
  expect((await onFile('check', next)).stdout).toContain('3 jobs are listed under states of their old machine')
  await store.worker('w1', null)
  await store.close()
  expect((await onFile('check', next, '--migrate')).stdout).toContain('3 jobs listed anew')
})

test.concurrent('check --migrate without a store is refused, and not taken for done', async () => {
  expect(await runIn({}, 'check', moduleAt('jobs-2.ts'), '--migrate')).toMatchObject({
    code: exitCodes.usage,
    stderr: expect.stringContaining('--migrate: expected a store') as string,
  })
})

test.concurrent('check records lives and replays them, from a file and from the store', async () => {
  const file = join(folder(), 'lives.json')
  const recorded = await run('check', jobsFile, '--record', file, '--replay', '--json')
  expect(recorded.code).toBe(exitCodes.done)
  const { recorded: count, replayed } = JSON.parse(recorded.stdout)
  expect(count).toBeGreaterThan(0)
  expect(replayed).toMatchObject({ lives: count, diverged: [] })
  const fromFile = await runIn({}, 'check', jobsFile, '--replay', file)
  expect(fromFile).toMatchObject({ code: exitCodes.done, stdout: expect.stringContaining('lives replayed') })
  const changed = await runIn({}, 'check', moduleAt('jobs-2.ts'), '--replay', file)
  expect(changed).toMatchObject({ code: exitCodes.finding, stdout: expect.stringContaining('lives went another way') })
  expect(await runIn({}, 'check', jobsFile, '--replay')).toMatchObject({ code: exitCodes.usage })
  expect(await runIn({}, 'check', jobsFile, '--replay', jobsFile)).toMatchObject({ code: exitCodes.usage })
  expect(await run('check', jobsFile, '--lives', '0')).toMatchObject({ code: exitCodes.usage })
})

test.concurrent('a store that is not there is not made, but by migrate', async () => {
  const file = join(folder(), 'new.db')
  const { code, stderr } = await run('ls', '--store', `sqlite:${file}`, '--json')
  expect(code).toBe(exitCodes.store)
  expect(JSON.parse(stderr)).toMatchObject({
    error: { code: 'STORE_UNAVAILABLE', hint: expect.stringContaining('migrate') },
  })
  expect(existsSync(file)).toBe(false)
  expect((await run('migrate', '--store', `sqlite:${file}`)).stdout).toContain('was made')
  expect((await run('stats', '--store', `sqlite:${file}`)).stdout).toContain('No jobs.')
})

test.concurrent('doctor says what is well and what is not', async () => {
  const { code, stdout } = await run('doctor')
  expect(code).toBe(0)
  for (const text of ['SQLite', 'no worker is active', 'bulk is paused with 600 jobs', '2 jobs died']) {
    expect(stdout).toContain(text)
  }
  const ill = await run('doctor', '--store', 'sqlite:/no/such/folder/jobs.db', '--json')
  expect(ill.code).toBe(exitCodes.finding)
  expect(JSON.parse(ill.stdout)).toMatchObject({
    ok: false,
    findings: expect.arrayContaining([expect.objectContaining({ level: 'problem' })]),
  })
})

test.concurrent('doctor ends with 1 if work is queued that no worker runs, and names its type', async () => {
  const store = `sqlite:${join(folder(), 'unattended.db')}`
  expect((await run('migrate', '--store', store)).code).toBe(0)
  await using client = createClient({ store: sqliteStore({ path: store.slice('sqlite:'.length) }) })
  expect((await run('doctor', '--store', store)).code).toBe(0)
  await client.enqueueByName('mail', 1)
  const { code, stdout } = await run('doctor', '--store', store)
  expect([code, stdout]).toEqual([
    exitCodes.finding,
    expect.stringContaining('mail has 1 job queued, and no worker runs it'),
  ])
})

test.concurrent(
  'doctor lists jobs of a file that cannot be read, and a repair corrects the counts and brings back what can be',
  async () => {
    const path = join(folder(), 'damaged.db')
    const on = (...args: string[]): ReturnType<typeof run> => run(...args, '--store', path)
    await using client = createClient({ store: sqliteStore({ path }) })
    for (const id of ['good', 'bad']) await client.enqueueByName('mail', null, { id })
    const db = new DatabaseSync(path)
    db.exec(`UPDATE jobs SET input = '{' WHERE id = 'bad'; UPDATE queues SET counts = '{'`)
    const repaired = await on('doctor', '--repair')
    expect([repaired.code, repaired.stdout]).toEqual([
      exitCodes.finding,
      expect.stringMatching(/rebuilt from 1 job; 1 count was wrong\n[^]* 1 job cannot be read: bad\n/),
    ])
    expect((await on('ls', '--ids')).stdout).toBe('good\n')
    db.exec(`UPDATE jobs_aside SET input = '1'`)
    db.close()
    expect((await on('doctor', '--repair')).stdout).toContain(
      'rebuilt from 2 jobs; 1 count was wrong, 1 job brought back: bad',
    )
  },
)

test.concurrent('wrong usage ends with 2 and says what is right', async () => {
  const { port, close } = await portInUse()
  const wrong: readonly (readonly [args: string[], says: string])[] = [
    [['lss'], 'Did you mean ls?'],
    [['schedules', 'nightly'], 'nightly is not a command of schedules'],
    [['ls', '--state', 'gone'], 'Expected one of scheduled, queued'],
    [['ls', '--limit', 'x'], 'Expected a whole number from 1 to 1000'],
    [['ls', '--enqueued-after', 'tomorrowish'], 'Expected how long ago'],
    [['show'], "missing required argument 'id'"],
    [['stats', '--store', 'mysql://host/db'], 'expected an address such as jobs.db'],
    [['stats', '--store', 'memory:'], 'are in the process that has them'],
    [['stats', '--jobs', 'nowhere.ts'], 'nowhere.ts does not exist'],
    [['stats', '--jobs', fileURLToPath(new URL('.', import.meta.url))], 'cannot be loaded'],
    [
      ['stats', '--jobs', fileURLToPath(new URL('../../../README.md', import.meta.url))],
      'The module must load by itself',
    ],
    [['draw', `${jobsFile}#machine`, '-o', join('nowhere', 'order.svg')], 'nowhere/order.svg cannot be written'],
    [['dashboard', '--port', String(port)], `port ${port} cannot be used`],
    [['cancel', 'order-0', '--yes', '--grace', 'soon'], 'Expected a duration such as 250ms'],
    [['ls', '--store', 'jobs://x'], 'Pass --store sqlite:jobs.db'],
    [['tail', '--event', 'failed'], 'Expected one of ENQUEUE,'],
    [['failures', '--type', 'email.send', '--merge', 'one'], '--merge: expected two fingerprints or more'],
    [['send', 'order-0', 'APPROVE', '--always', '--keep', '1d'], '--keep: expected --later'],
    [['send', 'order-0', 'APPROVE', '--later', '--keep', 'long'], 'Expected a duration such as 250ms'],
  ]
  const all = (...more: string[]) => Promise.all(wrong.map(([args]) => run(...args, ...more)))
  const [ended, asJson] = await Promise.all([all(), all('--json')]).finally(close)
  for (const [i, { code, stderr }] of ended.entries()) {
    expect(stderr).toContain(wrong[i]?.[1])
    expect(code, wrong[i]?.[1]).toBe(exitCodes.usage)
  }
  for (const [i, { code, stdout, stderr }] of asJson.entries()) {
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string; hint: string } }
    expect(`${error.message} ${error.hint}`).toContain(wrong[i]?.[1])
    expect({ stdout, code }).toEqual({ stdout: '', code: exitCodes.usage })
  }
  expect((await runIn({}, 'stats')).stderr).toContain('Pass --store sqlite:jobs.db,')
})

test.concurrent('an error has a stack only if it is asked for', async () => {
  const { code, stdout, stderr } = await run('show', 'nobody')
  expect({ code, stdout }).toEqual({ code: exitCodes.finding, stdout: '' })
  expect(stderr.split('\n')).toEqual([
    'error NOT_FOUND: job nobody is not in the store',
    'hint: It was pruned or discarded, or --store names another store. What is near: jobchart find nobody',
    '',
  ])
  expect((await run('show', 'nobody', '--verbose')).stderr).toMatch(/\n +at /)
})

test.concurrent('the version, the help and completions name every command', async () => {
  expect(await run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` })
  const { stdout: help } = await run('--help')
  const names = [...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)
  expect(names).toHaveLength(24)
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await run('completion', shell)
    for (const name of names) expect(stdout, shell).toContain(name)
  }
  expect((await run('schedules', 'trigger', '--help')).stdout).toContain('jobchart schedules trigger [options] <name>')
})

test.concurrent('help is that of a command by its names, and refuses other names', async () => {
  expect(await run('help', 'schedules', 'trigger')).toEqual(await run('schedules', 'trigger', '--help'))
  expect(await run('schedules', 'help', 'trigger')).toEqual(await run('schedules', 'trigger', '--help'))
  expect(await run('help')).toEqual(await run('--help'))
  for (const [args, parent] of [
    [['help', 'nothing'], 'jobchart'],
    [['help', 'schedules', 'nothing'], 'schedules'],
    [['bulk', 'help', 'nothing'], 'bulk'],
    [['help', 'show', 'nothing'], 'show'],
  ] as const) {
    const stderr = `error: nothing is not a command of ${parent}\n(jobchart --help, or jobchart COMMAND --help, says more)\n`
    expect(await run(...args)).toEqual({ code: exitCodes.usage, stdout: '', stderr })
  }
})

test.concurrent('colours are written only where they are wanted', async () => {
  const escape = '\u001B['
  expect((await run('stats')).stdout).not.toContain(escape)
  const copy = onCopy()
  expect((await copy('stats')).stdout).not.toContain(escape)
  const store = `sqlite:${join(folder(), 'jobs.db')}`
  expect((await runIn({ FORCE_COLOR: '1' }, 'stats', '--store', store)).stdout).toContain(escape)
  expect((await runIn({ NO_COLOR: '1' }, 'stats', '--store', store)).stdout).not.toContain(escape)
})
