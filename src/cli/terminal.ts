/** The terminal that commands write to: its width and colours, questions, signals, and pipes that are closed early. */
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { systemClock } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'

export type Style = Parameters<typeof styleText>[0]

export interface Terminal {
  /** Columns of the output; null if it is no terminal, so that nothing is cut. */
  readonly columns: number | null
  readonly rows: number
  /** Aborts on SIGINT and SIGTERM, and when the reader of the output closes its pipe. */
  readonly signal: AbortSignal
  /** Can questions be asked? Only if input and output are terminals. */
  readonly canAsk: boolean
  /** Writes lines to the standard output. Resolves when the output has accepted them. */
  print(text: string): Promise<void>
  /** Writes to the standard output as it is. */
  write(text: string): void
  /** Writes a line for people to the standard error. */
  note(text: string): void
  /** Writes a line to the standard error that the next one replaces; nothing if that is no terminal. */
  progress(text: string): void
  /** Styles text, unless NO_COLOR is set or the output is no terminal (FORCE_COLOR overrides). */
  style(style: Style, text: string): string
  /** Asks a question that is answered with yes or no. */
  confirm(question: string): Promise<boolean>
  /** Reads keys until `close`; its signal aborts when q, Escape or Ctrl-C is pressed. */
  keys(): { readonly signal: AbortSignal; close(): void }
  /** Waits; ends early when the terminal's signal or this one aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * Characters that a terminal obeys or that turn the direction of what follows, but for line breaks, tabs and styles. In
 * JSON only those above U+007E are left, and stay the same text as escapes.
 */
const obeyed =
  // oxlint-disable-next-line no-control-regex -- these are meant
  /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\u001b(?!\[[\d;]*m)/g

/** Text as it can be printed, wherever it is from: a job, a definition, an argument, an error. */
export const printable = (text: string): string =>
  text.replaceAll(obeyed, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  const ending = new AbortController()
  // A second signal ends the process at once: the listener is gone by then.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort(name))
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // Of other errors `print` tells.
      if (isClosed(error)) ending.abort('EPIPE')
    })
  }
  return {
    // The window may change its size.
    get columns() {
      return stdout.isTTY ? stdout.columns : null
    },
    get rows() {
      return stdout.isTTY ? stdout.rows : 24
    },
    signal: ending.signal,
    canAsk: stdin.isTTY && stderr.isTTY,
    print: (text) =>
      new Promise((resolve, reject) =>
        stdout.write(`${printable(text)}\n`, (error) => {
          // The signal says that the reader has gone.
          if (error === null || error === undefined || isClosed(error)) resolve()
          else reject(notWritten(error))
        }),
      ),
    write: (text) => void stdout.write(text),
    note: (text) => void stderr.write(`${printable(text)}\n`),
    progress: (text) => {
      if (stderr.isTTY) stderr.write(`\r\u001B[2K${printable(text)}`)
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    confirm: (question) => confirm(question, ending.signal),
    keys: readKeys,
    sleep: (ms, signal) => sleep(ms, signal === undefined ? ending.signal : AbortSignal.any([ending.signal, signal])),
  }
}

const isClosed = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED'

const notWritten = (cause: Error): JobchartError =>
  new JobchartError('INVALID_OPTION', `the output cannot be written: ${cause.message}`, {
    hint: 'Write it where there is room.',
    cause,
  })

async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(`${printable(question)} (y/N) `, { signal })).trim())
  } catch {
    return false
  } finally {
    lines.close()
  }
}

/**
 * Is q, Escape or Ctrl-C among the keys? Those that are pressed while the process is busy come together. An arrow, or
 * another key that is no character, begins with Escape.
 */
export const areQuitting = (keys: string): boolean =>
  keys === '\u001B' || (!keys.startsWith('\u001B') && ['q', 'Q', '\u0003'].some((key) => keys.includes(key)))

function readKeys(): ReturnType<Terminal['keys']> {
  const { stdin } = process
  const quitting = new AbortController()
  if (!stdin.isTTY) return { signal: quitting.signal, close: () => {} }
  const pressed = (keys: Buffer): void => {
    if (areQuitting(keys.toString())) quitting.abort()
  }
  stdin.setRawMode(true).on('data', pressed).resume()
  return {
    signal: quitting.signal,
    close: () => void stdin.off('data', pressed).setRawMode(false).pause(),
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = systemClock.timer(ended, ms, { keepAlive: true })
    function ended(): void {
      timer.cancel()
      signal.removeEventListener('abort', ended)
      resolve()
    }
    if (signal.aborted) ended()
    else signal.addEventListener('abort', ended)
  })
}
