/** Histories in files: one append-only file per process, one line of JSON per line. */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { HistoryLine, HistorySink } from './lines.ts'

export interface HistoryFile {
  readonly sink: HistorySink
  readonly close: () => void
}

/**
 * A new file for the history of this process. When the sink returns, the operating system has the line: it survives a
 * kill of the process, but not a power failure.
 * @throws if the file exists, because two processes must not write to one file
 */
export function historyFile(path: string): HistoryFile {
  const file = openSync(path, 'ax')
  return {
    sink: (line) => {
      const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
      for (let written = 0; written < bytes.length;) written += writeSync(file, bytes, written)
    },
    close: () => closeSync(file),
  }
}

/**
 * The lines of a file, or of all `.ndjson` files of a folder, file after file. An incomplete last line, of a process
 * that was killed while it wrote, is skipped.
 * @throws SyntaxError with file and line for any other line that is not JSON
 */
export function* readHistory(...paths: readonly string[]): Generator<HistoryLine> {
  for (const path of paths) {
    if (path.endsWith('.ndjson')) yield* readFile(path)
    else {
      const names = readdirSync(path).filter((name) => name.endsWith('.ndjson'))
      for (const name of names.toSorted()) yield* readFile(join(path, name))
    }
  }
}

function* readFile(path: string): Generator<HistoryLine> {
  const text = readFileSync(path, 'utf8')
  let number = 0
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from)
    number++
    // Without a line end, a line that parses may still be incomplete.
    if (end < 0) return
    yield parse(text.slice(from, end), path, number)
    from = end + 1
  }
}

function parse(text: string, path: string, number: number): HistoryLine {
  try {
    return JSON.parse(text) as HistoryLine
  } catch (cause) {
    throw new SyntaxError(`${path}:${number} is not a line of a history`, { cause })
  }
}
