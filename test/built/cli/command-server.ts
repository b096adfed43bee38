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
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

// A stream opens its handle when it is asked for first.
const { stdout, stderr } = process

const exitCode = (): number => Number(process.exitCode ?? 0)

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

async function carryOut({ number, program, cwd, environment, args }: CommandRequest): Promise<CommandAnswer> {
  const idle = handles()
  process.chdir(cwd)
  process.env = { ...environment }
  process.argv = [process.execPath, program, ...args]
  process.exitCode = undefined
  const [printed, noted] = [collect(stdout), collect(stderr)]
  try {
    await import(`${program}?${number}`)
    while (handles() !== idle) await turn()
  } finally {
    printed.end()
    noted.end()
    for (const stream of [stdout, stderr]) stream.removeAllListeners('error')
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal)
  }
  return { number, code: exitCode(), stdout: printed.text(), stderr: noted.text() }
}

// A command that does not end must not outlive the tests.
process.on('disconnect', () => process.exit())
let last: Promise<unknown> = Promise.resolve()
process.on('message', (request: CommandRequest) => {
  last = last.then(async () => process.send?.(await carryOut(request)))
})
