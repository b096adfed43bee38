/** The built command line as a child process, on a store that a runtime of the test has written. */
import { execFile, fork, spawn, type ChildProcess } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRuntime, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { afterAll, beforeAll } from 'vitest'
import { plainEnvironment } from '../../support/plain-environment.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import type { CommandAnswer, CommandRequest } from './command-server.ts'
import { email, order } from './jobs.ts'

const executable = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url))
/**
 * What the program imports once it knows that Node.js is new enough: a process that carries out all commands loads it
 * for each.
 */
const commands = new URL('../../../dist/src/cli/command-line.js', import.meta.url)
/** Paths of the modules beside this file, for `--jobs`. */
export const moduleAt = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * What the store holds: `full-0`, `full-1`: dead · `mail-0` … `mail-2`: done · `order-0` … `order-2`: in review · 600
 * queued `bulk`.
 */
export async function writeStore(store: Store): Promise<void> {
  const runtime = createRuntime({ jobs: [email, order], store, name: 'tested' })
  await runtime.start()
  const ended = []
  for (const i of [0, 1, 2]) {
    ended.push((await runtime.enqueue(email, { to: `${i}` }, { id: `mail-${i}`, tags: ['news'] })).result())
    await (await runtime.enqueue(order, undefined, { id: `order-${i}` })).waitFor('review')
  }
  for (const i of [0, 1]) {
    const job = await runtime.enqueue(email, { to: `${i}`, isFull: true }, { id: `full-${i}` })
    ended.push(job.result().catch(() => null))
  }
  await Promise.all(ended)
  await runtime.queue('bulk').pause()
  await runtime.schedule('nightly', '0 3 * * *', email, { to: 'all' })
  await Promise.all(Array.from({ length: 600 }, (_, i) => runtime.enqueueByName('bulk', i)))
  await runtime.stop()
}

let server: ChildProcess | null = null
const asked = new Map<number, PromiseWithResolvers<Ended>>()
let lastNumber = 0
afterAll(() => server?.kill())

function startServer(): ChildProcess {
  // The options of a test runner's process are not those of a command.
  const child = fork(new URL('command-server.ts', import.meta.url), {
    env: plainEnvironment,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  child.on('message', ({ number, ended }: CommandAnswer) => {
    if ('problem' in ended) asked.get(number)?.reject(new Error(`a command was not carried out: ${ended.problem}`))
    else asked.get(number)?.resolve(ended)
    asked.delete(number)
  })
  child.on('exit', () => {
    for (const { reject } of asked.values()) reject(new Error('the process that carries out commands has ended'))
  })
  return child
}

/**
 * Runs a command in a folder: in a process that carries out all of them, because a process for each costs more than the
 * commands.
 */
export const runCommand = (cwd: string, environment: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> =>
  runProgram(commands, cwd, environment, ...args)

/** The same with another main module. */
export function runProgram(
  program: URL,
  cwd: string,
  environment: NodeJS.ProcessEnv,
  ...args: string[]
): Promise<Ended> {
  const answer = Promise.withResolvers<Ended>()
  const number = ++lastNumber
  asked.set(number, answer)
  const request: CommandRequest = {
    number,
    program: program.href,
    cwd,
    environment: { ...plainEnvironment, ...environment },
    args,
  }
  server ??= startServer()
  server.send(request)
  return answer.promise
}

/** Runs a command in a folder, in a process of its own. */
export const runProcess = (cwd: string, environment: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { env: { ...plainEnvironment, ...environment }, cwd, timeout: 60_000 }
    const child = execFile(process.execPath, [executable, ...args], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
    child.stdin?.end()
  })

/** Starts a command in a folder that goes on. */
export const startCommand = (cwd: string, environment: NodeJS.ProcessEnv, ...args: string[]): ChildProcess =>
  startCommandInto('pipe', cwd, environment, ...args)

/** @param output a pipe, or the descriptor of a file */
const startCommandInto = (
  output: 'pipe' | number,
  cwd: string,
  environment: NodeJS.ProcessEnv,
  ...args: string[]
): ChildProcess =>
  spawn(process.execPath, [executable, ...args], {
    env: { ...plainEnvironment, ...environment },
    cwd,
    stdio: ['ignore', output, 'pipe'],
  })

export interface CommandLine {
  /** Runs a command on a store that nobody changes. */
  readonly run: (...args: string[]) => Promise<Ended>
  /** Runs commands on a copy of the store. */
  readonly onCopy: () => (...args: string[]) => Promise<Ended>
  /** Runs in this environment and folder. */
  readonly runIn: (environment: NodeJS.ProcessEnv, ...args: string[]) => Promise<Ended>
  /** The same as `run`, in a process of its own. */
  readonly runProcess: (...args: string[]) => Promise<Ended>
  /** Starts a command that goes on. */
  readonly start: (...args: string[]) => ChildProcess
  /** The same with the output into an open file, by its descriptor. */
  readonly startInto: (output: number, ...args: string[]) => ChildProcess
  /** The same on another store, by the path of its file. */
  readonly startOn: (store: string, ...args: string[]) => ChildProcess
  readonly folder: () => string
}

/** Makes the store before the tests of a file, and removes it afterwards. */
export function commandLine(): CommandLine {
  const folder = temporaryFolder()
  const path = join(folder.path, 'jobs.db')
  let copies = 0
  beforeAll(() => writeStore(sqliteStore({ path })))
  afterAll(() => folder.remove())
  const runIn = (environment: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> =>
    runCommand(folder.path, environment, ...args)
  const on = (store: string) => ({ JOBCHART_STORE: `sqlite:${store}` })
  const startOn = (store: string, ...args: string[]): ChildProcess => startCommand(folder.path, on(store), ...args)
  return {
    runIn,
    run: (...args) => runIn(on(path), ...args),
    runProcess: (...args) => runProcess(folder.path, on(path), ...args),
    onCopy: () => {
      const copy = join(folder.path, `copy-${++copies}.db`)
      copyFileSync(path, copy)
      return (...args) => runIn(on(copy), ...args)
    },
    start: (...args) => startOn(path, ...args),
    startInto: (output, ...args) => startCommandInto(output, folder.path, on(path), ...args),
    startOn,
    folder: () => folder.path,
  }
}
