/** Opening a file of the SQLite store: by many at once, and on filesystems that cannot share it. */
import type * as fs from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../src/core/clock.ts'
import { idsOf } from '../../src/store-testing/conformance/acts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startChild } from '../harness/processes.ts'
import { complaintsAbout } from './sqlite/consistency.ts'

/** What statfs(2) says of every folder; null = the truth. */
const filesystem = vi.hoisted(() => ({ type: null as bigint | null }))

vi.mock('node:fs', async (importOriginal) => {
  const real = await importOriginal<typeof fs>()
  const statfsSync = (...args: Parameters<typeof real.statfsSync>): unknown =>
    filesystem.type === null ? real.statfsSync(...args) : { type: filesystem.type }
  return { ...real, statfsSync }
})

beforeEach(() => {
  filesystem.type = null
})

function newPath(): string {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  return join(folder.path, 'jobs.db')
}

test.each([1, 2, 3])('eight processes open a new file at once, and none is turned away (round %i)', async () => {
  const path = newPath()
  const ids = Array.from({ length: 8 }, (_, i) => `job ${i}`)
  const children = ids.map((id) => startChild(new URL('sqlite/opening-child.ts', import.meta.url), path, id))
  await Promise.all(children.map((child) => child.heard()))
  for (const child of children) child.tell('go')
  await Promise.all(children.map((child) => child.ended()))
  const store = sqliteStore({ path })
  await store.open({ clock: systemClock })
  expect(idsOf(await store.list({})).toSorted()).toEqual(ids)
  await store.close()
  expect(complaintsAbout(path)).toEqual([])
})

test.each([
  [0x6969n, 'NFS'],
  [0x517bn, 'SMB'],
  [0xff534d42n, 'CIFS'],
  // As a system gives it whose numbers have a sign.
  [BigInt.asIntN(32, 0xff534d42n), 'CIFS'],
  [0xfe534d42n, 'SMB2'],
  [0x5346414fn, 'AFS'],
  [0x00c36400n, 'CephFS'],
])('a file on a network filesystem is refused (%s: %s)', async (type, name) => {
  const path = newPath()
  filesystem.type = type
  await expect(sqliteStore({ path }).open({ clock: systemClock })).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringContaining(`${path} is on ${name}`),
    hint: expect.stringContaining('local disk'),
  })
})

test.each([0xef53n, 0x01021994n, 0x9123683en, 0x58465342n, 0x794c7630n])(
  'a file on a local one is not (%s)',
  async (type) => {
    filesystem.type = type
    const store = sqliteStore({ path: newPath() })
    await store.open({ clock: systemClock })
    await store.close()
  },
)

test.each(['3.51.2', '3.50.4', '3.9.9', '2.99.99'])(
  'SQLite %s is refused, and the versions of Node that have a newer one are named',
  async (version) => {
    const real = process.versions['sqlite']
    Object.defineProperty(process.versions, 'sqlite', { value: version, configurable: true })
    onTestFinished(() => void Object.defineProperty(process.versions, 'sqlite', { value: real, configurable: true }))
    await expect(sqliteStore({ path: newPath() }).open({ clock: systemClock })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining(`this Node has ${version}`),
      hint: expect.stringMatching(/22\.22\.3.*24\.15.*26/),
    })
  },
)
