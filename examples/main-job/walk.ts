/** The files below a folder, one at a time, in the order of their names; of the tree it holds one branch. */
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const unreadableMax = 10

/** What a walk came across. */
export class Walked {
  isComplete = false
  files = 0
  /** Symbolic links are not followed: they may lead out of the folder, in circles or nowhere. */
  links = 0
  /** Sockets, pipes, devices. */
  others = 0
  unreadableFolders = 0
  /** The first of them, with the reason. */
  readonly unreadable: string[] = []

  cannotRead(error: Error): Dirent[] {
    if (this.unreadableFolders++ < unreadableMax) this.unreadable.push(error.message)
    return []
  }
}

export async function* walk(folder: string, walked: Walked): AsyncGenerator<string, void, undefined> {
  yield* below(folder, walked)
  walked.isComplete = true
}

async function* below(folder: string, walked: Walked): AsyncGenerator<string, void, undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => walked.cannotRead(error))
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* below(path, walked)
    else if (entry.isFile()) {
      walked.files++
      yield path
    } else if (entry.isSymbolicLink()) walked.links++
    else walked.others++
  }
}

export async function countFiles(folder: string): Promise<number> {
  const walked = new Walked()
  for await (const _ of walk(folder, walked));
  return walked.files
}
