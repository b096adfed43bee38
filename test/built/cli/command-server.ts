/**
 * A process that carries out commands one after the other as a process of each would: the main module runs anew, what
 * it imports is loaded once. A command has ended when nothing of it keeps the process alive any more.
 */
import { setImmediate as turn } from 'node:timers/promises'

export interface CommandRequest {
  readonly number: number
  readonly program: string
  readonly cwd: string
  readonly environment: NodeJS.ProcessEnv
  readonly args: readonly string[]
}

export interface CommandAnswer {
  readonly number: number
  /** How it has ended; why it could not be carried out. */
  readonly ended: CommandEnd | { readonly problem: string }
}

export interface CommandEnd {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

// A stream opens its handle when it is asked for first.
const { stdout, stderr } = process

/**
 * Every command says how it has ended. A program that does not is none: a module that is being written when it is
 * loaded is empty, and would pass for a command that has succeeded and printed nothing.
 */
function exitCode(): number {
  const { exitCode: code } = process
  if (code === undefined || code === null) throw new Error('it has ended without an exit code: is dist being written?')
  return Number(code)
}

/** What keeps the process alive, by name. */
const handles = (): string => process.getActiveResourcesInfo().toSorted().join(' ')

/** Keeps what is written to a stream. */
function collect(stream: NodeJS.WriteStream): { readonly text: () => string; readonly end: () => void } {
  let text = ''
  const own = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const written = rest.at(-1)
    if (typeof written === 'function') process.nextTick(written as () => void)
    return true
  }
  stream.write = own
  return { text: () => text, end: () => void Reflect.deleteProperty(stream, 'write') }
}

async function carryOut({ number, program, cwd, environment, args }: CommandRequest): Promise<CommandEnd> {
  const idle = handles()
  process.chdir(cwd)
  process.env = { ...environment }
  process.argv = [process.execPath, program, ...args]
  process.exitCode = undefined
  const [printed, noted] = [collect(stdout), collect(stderr)]
  try {
    await import(`${program}?${number}`)
    // A turn first: what is left to do in this one, as after the help, keeps a process alive as well.
    do await turn()
    while (handles() !== idle)
  } finally {
    printed.end()
    noted.end()
    for (const stream of [stdout, stderr]) stream.removeAllListeners('error')
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal)
  }
  return { code: exitCode(), stdout: printed.text(), stderr: noted.text() }
}

// A command that does not end must not outlive the tests.
process.on('disconnect', () => process.exit())
let last: Promise<unknown> = Promise.resolve()
process.on('message', (request: CommandRequest) => {
  last = last.then(async () => {
    const ended = await carryOut(request).catch((error: unknown) => ({ problem: String(error) }))
    const answer: CommandAnswer = { number: request.number, ended }
    // Until it is sent, it keeps the process alive: the next command would begin with that.
    await new Promise((sent) => process.send?.(answer, sent))
  })
})
