/** Histories in files: one append-only file per process, one line of JSON per line. */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { HistoryLine, HistorySink } from './lines.ts'

export interface HistoryFile {
  readonly sink: HistorySink
  readonly close: () => void
}

/**
 * A new file for the history of this process. Each line is with the operating system when the sink returns: a process that
 * is killed loses nothing of it (a machine that loses its power may).
 * @throws if the file exists: two processes must not write one
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
 * The lines of a file, or of all `.ndjson` files of a folder, file after file. A torn last line, of a process that died
 * while it wrote, is left out.
 * @throws SyntaxError naming file and line for any other line that is no JSON
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
    // Without its end a line may be whole by chance, and still be a part of one.
    if (end < 0) return
    yield parse(text.slice(from, end), path, number)
    from = end + 1
  }
}

function parse(text: string, path: string, number: number): HistoryLine {
  try {
    return JSON.parse(text) as HistoryLine
  } catch (cause) {
    throw new SyntaxError(`${path}:${number} is no line of a history`, { cause })
  }
}
