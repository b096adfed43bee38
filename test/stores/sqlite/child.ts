/** Processes of our own: TypeScript files that are started with arguments, and talk through their channel. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { plainEnvironment } from '../../support/plain-environment.ts'

export interface Child {
  readonly process: ChildProcess
  tell(word: unknown): void
  /** The next thing it says. @throws Error if it ends instead */
  heard(): Promise<unknown>
  /** @throws Error unless it ends well */
  ended(): Promise<void>
}

/** How a child is started: on the sources. */
export const childOptions = {
  execArgv: ['--conditions=@jobchart/source'],
  env: plainEnvironment,
}

/** @param file beside this one */
export function startChild(file: string, ...args: readonly string[]): Child {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    ...childOptions,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Values as they are: a member that is undefined, one that is named __proto__.
    serialization: 'advanced',
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()))
  const words: unknown[] = []
  child.on('message', (word) => words.push(word))
  const exit = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => {
    return new Error(`${file} ended with ${code ?? signal}: ${said}`)
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
