/**
 * The three jobs every file gets, and the review that some get. Each of the three reads the file as a stream, ends when
 * its signal aborts, and checks in on large files.
 */
import { createHash, hash as digestOf } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { defineJob, exponential, type JobDefinition, type RunContext } from 'jobchart'
import { z } from 'zod'
import { review, suspiciousLineBytes } from './review.ts'

const input = z.object({
  /** Absolute: the next process may start in another folder. */
  path: z.string(),
  /** Changes when the file does. */
  version: z.string(),
})

export type FileInput = z.infer<typeof input>

/** The same work has the same id, in every process and at every start: it is one job, and done once. */
export const idOf = (type: string, { path, version }: FileInput): string =>
  `${type}:${digestOf('sha1', `${path}\0${version}`, 'base64url')}`

/** The id of a review, which people read. */
const reviewIdOf = (file: FileInput): string =>
  `${idOf(review.type, file).slice(0, 15)}:${basename(file.path).slice(-60).toWellFormed()}`

interface FileOutput {
  readonly path: string
  readonly bytes: number
}

export interface Hashed extends FileOutput {
  readonly digest: string
}

export interface Compressed extends FileOutput {
  readonly compressedBytes: number
}

export interface Lined extends FileOutput {
  readonly isText: boolean
  readonly lines: number
  readonly longestBytes: number
}

/** How far a job is with a large file. */
export interface FileProgress {
  readonly path: string
  /** 0…1 */
  readonly read: number
}

const retry = {
  // A process that is killed spends the attempts of what it had in hand: five of them may be killed over a large file.
  maxAttempts: 5,
  backoff: exponential({ base: '200ms', max: '5s' }),
  // A file that is gone or closed to us will be so in a second, too.
  retryIf: (error: unknown) => !['ENOENT', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''),
}

/** First by weight: duplicates are what people look for. */
export const hash = defineJob({
  type: 'hash',
  weight: 6,
  input,
  retry,
  run: async ({ path }, context): Promise<Hashed> => {
    const sha256 = createHash('sha256')
    let bytes = 0
    for await (const chunk of contents(path, context)) {
      sha256.update(chunk)
      bytes += chunk.length
    }
    return { path, bytes, digest: sha256.digest('base64') }
  },
})

/** Node compresses in a pool of four threads; the files are read there, too. */
export const compress = defineJob({
  type: 'compress',
  weight: 3,
  concurrency: 4,
  input,
  retry,
  run: async ({ path }, context): Promise<Compressed> => {
    const size = { bytes: 0, compressedBytes: 0 }
    await pipeline(
      contents(path, context),
      counting((bytes) => (size.bytes += bytes)),
      createGzip(),
      counting((bytes) => (size.compressedBytes += bytes)),
      drain,
      { signal: context.signal },
    )
    return { path, ...size }
  },
})

export const lines = defineJob({
  type: 'lines',
  weight: 1,
  concurrency: 2,
  input,
  retry,
  run: async ({ path, version }, context): Promise<Lined> => {
    let [bytes, count, longest, current] = [0, 0, 0, 0]
    for await (const chunk of contents(path, context)) {
      // Text has no zero bytes.
      if (chunk.includes(0)) return { path, bytes: 0, isText: false, lines: 0, longestBytes: 0 }
      bytes += chunk.length
      let from = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        count++
        longest = Math.max(longest, current + end - from)
        current = 0
        from = end + 1
      }
      current += chunk.length - from
    }
    const longestBytes = Math.max(longest, current)
    if (longestBytes >= suspiciousLineBytes) {
      await context.enqueue(review, { path, version, longestBytes }, { id: reviewIdOf({ path, version }) })
    }
    return { path, bytes, isText: true, lines: count + (current > 0 ? 1 : 0), longestBytes }
  },
})

/** Those that every file gets. */
export const jobs: readonly JobDefinition<FileInput>[] = [hash, compress, lines]

/** All that a runtime must know. */
export const definitions: readonly JobDefinition[] = [...jobs, review]

const chunkBytes = { min: 4 * 1024, max: 256 * 1024 }
const checkinEveryBytes = 4 * 1024 * 1024

async function* contents(path: string, { signal, checkin }: RunContext): AsyncGenerator<Buffer, void, undefined> {
  const { size } = await stat(path)
  const highWaterMark = Math.min(chunkBytes.max, Math.max(chunkBytes.min, size + 1))
  let read = 0
  let checkinAt = checkinEveryBytes
  for await (const chunk of createReadStream(path, { signal, highWaterMark }) as AsyncIterable<Buffer>) {
    yield chunk
    read += chunk.length
    if (read < checkinAt) continue
    checkin({ path, read: Math.min(1, read / size) } satisfies FileProgress)
    checkinAt = read + checkinEveryBytes
  }
}

function counting(count: (bytes: number) => void) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      count(chunk.length)
      yield chunk
    }
  }
}

async function drain(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks);
}
