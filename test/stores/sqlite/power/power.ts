/**
 * Power cuts: a process works on a file, and every call that it makes on it is recorded. From the record come images of
 * what may be on the disk if the power fails at a given call; each is opened, and must hold everything that had been
 * acknowledged.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom, type Random } from '../../../../src/core/clock.ts'
import { runProgram } from '../../../harness/processes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { Disk, losses, type Loss } from './disk.ts'
import { acksFile, dataFile, judge, type Ack } from './judge.ts'
import { buildRecorder, readLog, type FileCall } from './log.ts'

export interface PowerOptions {
  readonly seed: number
  readonly images: number
  /** Default `full`. */
  readonly durability?: 'full' | 'normal'
  /** What the process sets instead of what the store asks for: a mistake that must be noticed. */
  readonly synchronous?: 'OFF'
}

export interface PowerReport {
  readonly images: number
  /** Images in which something was unsynced, so that there was a choice. */
  readonly undecided: number
  /** Checkpoints of the log into the file, as far as one was synced. */
  readonly fileSyncs: number
  readonly acks: number
  /** One line per image in which something acknowledged is missing. */
  readonly lost: readonly string[]
  /** One line per image that is damaged. */
  readonly damaged: readonly string[]
}

const sharedMemoryFile = `${dataFile}-shm`

/** A call at which the power fails, and how. */
interface Cut {
  readonly after: number
  readonly loss: Loss
}

export async function cutPower(options: PowerOptions): Promise<PowerReport> {
  const folder = temporaryFolder()
  try {
    const calls = await recordWork(folder.path, options)
    return await tryImages(calls, join(folder.path, 'image'), options)
  } finally {
    folder.remove()
  }
}

async function recordWork(folder: string, { seed, durability = 'full', synchronous }: PowerOptions) {
  const [library, log, work] = [join(folder, 'recorder.so'), join(folder, 'calls'), join(folder, 'work')]
  await buildRecorder(library)
  mkdirSync(work)
  const { exitCode, stderr } = await runProgram(
    new URL('recorded-child.ts', import.meta.url),
    [work, durability, synchronous ?? '', String(seed)],
    { env: { LD_PRELOAD: library, RECORDER_FOLDER: work, RECORDER_LOG: log } },
  )
  if (exitCode !== 0) throw new Error(`the recorded process ended with ${exitCode}: ${stderr}`)
  return readLog(log)
}

/** Half of the cuts come right after an acknowledgement, where a loss hurts; the others anywhere. */
function chooseCuts(calls: readonly FileCall[], { seed, images }: PowerOptions): Cut[] {
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const acked = calls.flatMap(({ name }, i) => (name === acksFile ? [i + 1] : []))
  const cuts = Array.from({ length: images }, (_, i): Cut => {
    const after = i % 2 === 0 ? pick(acked) : Math.floor(random() * (calls.length + 1))
    return { after, loss: losses[i % losses.length] as Loss }
  })
  return cuts.toSorted((a, b) => a.after - b.after)
}

async function tryImages(calls: readonly FileCall[], folder: string, options: PowerOptions): Promise<PowerReport> {
  const random = seededRandom(options.seed + 1)
  const disk = new Disk()
  const acks: Ack[] = []
  const lost: string[] = []
  const damaged: string[] = []
  let at = 0
  let undecided = 0
  for (const { after, loss } of chooseCuts(calls, options)) {
    for (; at < after; at++) {
      const call = calls[at] as FileCall
      if (call.name === acksFile && call.kind === 'write') acks.push(JSON.parse(call.data.toString()) as Ack)
      else if (call.name !== acksFile && call.name !== sharedMemoryFile) disk.take(call)
    }
    if (disk.isUndecided) undecided++
    const image = disk.left(loss, random)
    // Shared memory is written past the system's calls, and never synced: anything may be left of it.
    if (random() < 0.5) image.set(sharedMemoryFile, randomBytes(32_768, random))
    const verdict = await judge(image, acks, folder)
    const about = `after call ${after} of ${calls.length}, ${loss}`
    if (verdict.lost.length > 0) lost.push(`${about}: ${verdict.lost.join('; ')}`)
    if (verdict.damage.length > 0) damaged.push(`${about}: ${verdict.damage.join('; ')}`)
  }
  const fileSyncs = calls.filter(({ kind, name }) => kind === 'sync' && name === dataFile).length
  return { images: options.images, undecided, fileSyncs, acks: acks.length, lost, damaged }
}

const randomBytes = (size: number, random: Random): Buffer =>
  Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))
