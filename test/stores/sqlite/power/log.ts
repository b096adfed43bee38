/** What a process has done to the files of a folder, as `recorder.c` has written it down. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** One call, in the order of the calls. The folder itself has the empty name. */
export type FileCall =
  | { readonly kind: 'create'; readonly name: string }
  | { readonly kind: 'unlink'; readonly name: string }
  | { readonly kind: 'sync'; readonly name: string }
  | { readonly kind: 'truncate'; readonly name: string; readonly size: number }
  | { readonly kind: 'write'; readonly name: string; readonly at: number; readonly data: Buffer }

const kinds: Readonly<Record<string, FileCall['kind']>> = {
  c: 'create',
  u: 'unlink',
  s: 'sync',
  t: 'truncate',
  w: 'write',
}

const headBytes = 14

export function readLog(path: string): FileCall[] {
  const log = readFileSync(path)
  const calls: FileCall[] = []
  for (let at = 0; at < log.length;) {
    const nameBytes = log.readUInt8(at)
    const kind = kinds[String.fromCharCode(log.readUInt8(at + 1))]
    const number = Number(log.readBigUInt64LE(at + 2))
    const dataBytes = log.readUInt32LE(at + 10)
    const dataAt = at + headBytes + nameBytes
    const name = log.toString('utf8', at + headBytes, dataAt)
    if (kind === undefined || dataAt + dataBytes > log.length) throw new Error(`${path} has no record at ${at}`)
    if (kind === 'write') calls.push({ kind, name, at: number, data: log.subarray(dataAt, dataAt + dataBytes) })
    else if (kind === 'truncate') calls.push({ kind, name, size: number })
    else calls.push({ kind, name })
    at = dataAt + dataBytes
  }
  return calls
}

/** Compiles the recorder, unless it is there. @param path of the library @throws Error without a C compiler */
export async function buildRecorder(path: string): Promise<void> {
  if (existsSync(path)) return
  const source = fileURLToPath(new URL('recorder.c', import.meta.url))
  try {
    await promisify(execFile)('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', path, source, '-ldl'])
  } catch (cause) {
    throw new Error(
      'the recorder of file calls could not be compiled: is gcc installed (apt-get install gcc libc6-dev)?',
      {
        cause,
      },
    )
  }
}
