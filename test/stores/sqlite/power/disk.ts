/**
 * A disk without power: what may be left of the files of a folder when the system stops at a given call. What was
 * synced is there. Of what was written since, nothing, all, any part of the calls, or any sectors of any of the calls
 * is there: a disk writes in any order. A file is found by its name if the folder was synced after it was made, and may
 * be without.
 */
import type { Random } from '../../../../src/core/clock.ts'
import type { FileCall } from './log.ts'

/** What becomes of calls that were not synced. */
export const losses = ['all lost', 'none lost', 'a prefix kept', 'any lost', 'torn'] as const
export type Loss = (typeof losses)[number]

type Change = Extract<FileCall, { readonly kind: 'write' | 'truncate' }>

const sectorBytes = 512

class Content {
  private bytes: Buffer
  private size = 0

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.bytes = Buffer.from(bytes)
    this.size = bytes.length
  }

  write(at: number, data: Buffer): void {
    const end = at + data.length
    if (end > this.bytes.length)
      this.bytes = Buffer.concat([this.bytes, Buffer.alloc(Math.max(end, this.bytes.length))])
    data.copy(this.bytes, at)
    this.size = Math.max(this.size, end)
  }

  truncate(size: number): void {
    if (size < this.size) this.bytes.fill(0, size, this.size)
    else this.write(size, Buffer.alloc(0))
    this.size = size
  }

  apply(change: Change): void {
    if (change.kind === 'truncate') this.truncate(change.size)
    else this.write(change.at, change.data)
  }

  /** Some sectors of a write; all of them count for the size of the file, as far as they were written. */
  applyTorn(change: Change, random: Random): void {
    if (change.kind === 'truncate') return random() < 0.5 ? this.truncate(change.size) : undefined
    const end = change.at + change.data.length
    for (let at = change.at; at < end;) {
      const next = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes)
      if (random() < 0.5) this.write(at, change.data.subarray(at - change.at, next - change.at))
      at = next
    }
  }

  copy(): Content {
    return new Content(this.toBuffer())
  }

  toBuffer(): Buffer {
    return this.bytes.subarray(0, this.size)
  }
}

/** A file apart from its name. */
class File {
  readonly synced = new Content()
  unsynced: Change[] = []

  sync(): void {
    for (const change of this.unsynced) this.synced.apply(change)
    this.unsynced = []
  }

  left(loss: Loss, random: Random): Buffer {
    const content = this.synced.copy()
    const prefix = Math.floor(random() * (this.unsynced.length + 1))
    this.unsynced.forEach((change, i) => {
      if (loss === 'torn') content.applyTorn(change, random)
      else if (loss === 'none lost' || (loss === 'a prefix kept' && i < prefix)) content.apply(change)
      else if (loss === 'any lost' && random() < 0.5) content.apply(change)
    })
    return content.toBuffer()
  }
}

export class Disk {
  private readonly folder = new Map<string, File>()
  private syncedFolder = new Map<string, File>()
  /** Names that were given or taken since the folder was synced. */
  private names: { readonly name: string; readonly file: File | null }[] = []

  take(call: FileCall): void {
    const { name } = call
    if (call.kind === 'sync' && name === '') {
      this.syncedFolder = new Map(this.folder)
      this.names = []
    } else if (call.kind === 'create') this.name(name, new File())
    else if (call.kind === 'unlink') this.name(name, null)
    else if (call.kind === 'sync') this.file(name).sync()
    else this.file(name).unsynced.push(call)
  }

  /** Is there anything that may or may not be found? */
  get isUndecided(): boolean {
    return this.names.length > 0 || [...this.folder.values()].some(({ unsynced }) => unsynced.length > 0)
  }

  /** What may be found when power is back. */
  left(loss: Loss, random: Random): Map<string, Buffer> {
    const found = new Map(this.syncedFolder)
    // The journal of a filesystem keeps the order of names.
    const kept =
      loss === 'none lost'
        ? this.names.length
        : loss === 'all lost'
          ? 0
          : Math.floor(random() * (this.names.length + 1))
    for (const { name, file } of this.names.slice(0, kept)) {
      if (file === null) found.delete(name)
      else found.set(name, file)
    }
    return new Map([...found].map(([name, file]) => [name, file.left(loss, random)]))
  }

  private name(name: string, file: File | null): void {
    this.names.push({ name, file })
    if (file === null) this.folder.delete(name)
    else this.folder.set(name, file)
  }

  private file(name: string): File {
    const file = this.folder.get(name)
    if (file === undefined) throw new Error(`a call on ${name}, which nobody has made`)
    return file
  }
}
