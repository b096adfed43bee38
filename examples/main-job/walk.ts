/** The files below a folder, one at a time, in the order of their names; of the tree it holds one branch. */
import { realpathSync, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { FileInput } from './jobs.ts'

const unreadableMax = 10
const batchSize = 64

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

export interface Tree {
  readonly folder: string
  /** Real paths that are no part of it: what this program itself writes. */
  readonly except: ReadonlySet<string>
}

/** The files, so many at a time. */
export async function* walk(tree: Tree, walked: Walked): AsyncGenerator<FileInput[], void, undefined> {
  let paths: string[] = []
  for await (const path of below(realpathSync(tree.folder), tree, walked)) {
    paths.push(path)
    if (paths.length < batchSize) continue
    yield await found(paths)
    paths = []
  }
  if (paths.length > 0) yield await found(paths)
  walked.isComplete = true
}

async function* below(folder: string, tree: Tree, walked: Walked): AsyncGenerator<string, void, undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: Error) => walked.cannotRead(error))
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (tree.except.has(path)) continue
    if (entry.isDirectory()) yield* below(path, tree, walked)
    else if (entry.isFile()) {
      walked.files++
      yield path
    } else if (entry.isSymbolicLink()) walked.links++
    else walked.others++
  }
}

const found = (paths: readonly string[]): Promise<FileInput[]> =>
  Promise.all(paths.map(async (path) => ({ path, version: await versionOf(path) })))

/** A file that cannot be looked at has a version too: its jobs will say why. */
export const versionOf = (path: string): Promise<string> =>
  stat(path).then(
    ({ size, mtimeMs }) => `${size} bytes of ${mtimeMs}`,
    (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
  )

/** A path below the folder, as the folder was typed. */
export function shownIn(folder: string): (path: string) => string {
  const real = realpathSync(folder)
  return (path) => join(folder, relative(real, path))
}
