/**
 * A power cut at any moment loses nothing that was acknowledged: images of what a disk may hold then are opened and
 * checked. The short form; `npm run proof -- --only power` tries more. Only for Linux: file calls are recorded by a
 * preloaded library.
 */
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/core/clock.ts'
import { Disk, losses } from './sqlite/power/disk.ts'
import type { FileCall } from './sqlite/power/log.ts'
import { cutPower } from './sqlite/power/power.ts'

const data = (text: string): Buffer => Buffer.from(text)

test('an image holds what was synced, and what was written since only by chance', () => {
  const disk = new Disk()
  const calls: FileCall[] = [
    { kind: 'create', name: 'a' },
    { kind: 'write', name: 'a', at: 0, data: data('synced') },
    { kind: 'sync', name: 'a' },
    { kind: 'sync', name: '' },
    { kind: 'write', name: 'a', at: 0, data: data('later') },
    { kind: 'truncate', name: 'a', size: 5 },
    { kind: 'create', name: 'b' },
  ]
  for (const call of calls) disk.take(call)
  const random = seededRandom(1)
  const textOf = (image: Map<string, Buffer>): string => [...image].map((entry) => entry.join('=')).join(' ')
  expect(textOf(disk.left('all lost', random))).toBe('a=synced')
  expect(textOf(disk.left('none lost', random))).toBe('a=later b=')
  const found = new Set(losses.flatMap((loss) => Array.from({ length: 50 }, () => textOf(disk.left(loss, random)))))
  // Written and not truncated, truncated and not written: in any order, with the new name or without it.
  for (const text of ['a=laterd', 'a=synce', 'a=synced b=']) expect(found).toContain(text)
  disk.take({ kind: 'sync', name: 'a' })
  disk.take({ kind: 'sync', name: '' })
  expect(disk.isUndecided).toBe(false)
  expect(losses.map((loss) => textOf(disk.left(loss, random)))).toEqual(losses.map(() => 'a=later b='))
})

const onLinux = process.platform === 'linux'
/** A busy machine with a slow disk takes its time for some hundred syncs. */
const timeout = 300_000
const seed = Math.floor(Math.random() * 1_000_000)

test.runIf(onLinux)(
  `nothing that was acknowledged is lost, and the file is whole (seed ${seed})`,
  { timeout },
  async () => {
    const report = await cutPower({ seed, images: 24 })
    expect(report).toMatchObject({ lost: [], damaged: [] })
    // The record is of work that was worth cutting: commits, checkpoints, and moments with something to lose.
    expect(report.acks).toBeGreaterThan(100)
    expect(report.fileSyncs).toBeGreaterThan(2)
    // About three quarters of the cuts that are anywhere.
    expect(report.undecided).toBeGreaterThan(2)
  },
)

test.runIf(onLinux)(
  `without syncs acknowledged work is lost, and that is noticed (seed ${seed})`,
  { timeout },
  async () => {
    const { lost } = await cutPower({ seed, images: 12, synchronous: 'OFF' })
    expect(lost.length).toBeGreaterThan(0)
  },
)

test.runIf(onLinux)(
  `with durability normal acknowledged work may be lost, but the file is whole (seed ${seed})`,
  async () => {
    const { lost, damaged } = await cutPower({ seed, images: 15, durability: 'normal' })
    expect(lost.length).toBeGreaterThan(0)
    expect(damaged).toEqual([])
  },
)
