/**
 * Processes of the tests and proofs: how each is started, in which environment, and what becomes of what it prints.
 * `runProgram` waits for the end, `forkProgram` has a channel, `startChild` talks through it one word at a time.
 */
import { execFile, fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { plainEnvironment } from '../support/plain-environment.ts'
import { programOf } from './programs.ts'

/** A TypeScript file: `new URL('working-child.ts', import.meta.url)`, or its path. */
export type Source = URL | string

export interface ProgramRun {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  /** Default: a folder of its own, which is removed at its end. */
  readonly folder?: string
  /** It is killed if it takes longer. */
  readonly msMax?: number
  /** Beside those that any process has. */
  readonly env?: NodeJS.ProcessEnv
  /** Sees the process as it goes on. */
  readonly meanwhile?: (child: ChildProcess) => void
}

/** A program that hangs ends before its test does: see `testTimeout` in vitest.config.ts. */
const programMsMax = 580_000
const outputBytesMax = 2 ** 26

/** Never rejects for what the program does: a failure is an exit code, a program that was killed has none. */
export async function runProgram(
  source: Source,
  args: readonly string[] = [],
  { folder, msMax = programMsMax, env, meanwhile }: RunOptions = {},
): Promise<ProgramRun> {
  const cwd = folder ?? (await mkdtemp(join(tmpdir(), 'jobchart-')))
  try {
    return await new Promise((resolve) => {
      const { path, execArgv } = programOf(pathOf(source))
      const child = execFile(
        process.execPath,
        [...execArgv, path, ...args],
        {
          cwd,
          timeout: msMax,
          killSignal: 'SIGKILL',
          maxBuffer: outputBytesMax,
          env: { ...plainEnvironment, NO_COLOR: '1', ...env },
        },
        (_error, stdout, stderr) => {
          resolve({ exitCode: child.exitCode, signal: child.signalCode, stdout, stderr })
        },
      )
      meanwhile?.(child)
    })
  } finally {
    if (folder === undefined) await rm(cwd, { recursive: true, force: true })
  }
}

/** Starts a program with a channel of messages to it. */
export function forkProgram(
  source: Source,
  args: readonly string[] = [],
  options: Omit<ForkOptions, 'execArgv'> = {},
): ChildProcess {
  const { path, execArgv } = programOf(pathOf(source))
  return fork(path, args, { env: plainEnvironment, ...options, execArgv: [...execArgv] })
}

export interface Child {
  readonly process: ChildProcess
  tell(word: unknown): void
  /** The next thing it says. @throws Error if it ends instead */
  heard(): Promise<unknown>
  /** @throws Error unless it ends well */
  ended(): Promise<void>
}

/** Starts a program that is told words, and says some. */
export function startChild(source: Source, ...args: readonly string[]): Child {
  const child = forkProgram(source, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Values as they are: a member that is undefined, one that is named __proto__.
    serialization: 'advanced',
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
  const words: unknown[] = []
  child.on('message', (word) => words.push(word))
  // It may be known to have ended before what it has said last is read.
  const exit = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    return new Error(`${pathOf(source)} ended with ${code ?? signal}: ${said}`)
  })
  return {
    process: child,
    tell: (word) => void child.send(word as object),
    async heard() {
      while (words.length === 0) {
        const ended = await Promise.race([exit, once(child, 'message').then(() => null)])
        if (ended !== null && words.length === 0) throw ended
      }
      return words.shift()
    },
    async ended() {
      const error = await exit
      if (child.exitCode !== 0) throw error
    },
  }
}

const pathOf = (source: Source): string => (typeof source === 'string' ? source : fileURLToPath(source))
