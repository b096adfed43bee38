/**
 * The cases that look at the stores while a fault is injected: the contract, and what only deaths, others and damage
 * show of the SQLite store, and what others show of one over a round trip.
 */
import assert from 'node:assert/strict'
import fs, { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'jobchart/sqlite'
import { remoteStore } from 'jobchart/store'
import { systemClock } from '../../src/core/clock.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { remoteCases } from '../stores/remote/cases.ts'
import { MapPort, SharedMap } from '../stores/remote/map-port.ts'
import { callCases } from '../stores/sqlite/call-cases.ts'
import { complaintsAbout } from '../stores/sqlite/consistency.ts'
import { playThrough, textOf } from '../stores/sqlite/kill-points.ts'
import { playerOn, script } from '../stores/sqlite/script.ts'
import {
  damagedJob,
  settleWithDamagedInbox,
  unsupportedFiles,
  withContradictions,
} from '../stores/sqlite/strange-files.ts'
import { Partner, sharedStore } from '../stores/sqlite/two-processes.ts'
import { movingClock } from '../stores/moving-clock.ts'
import { subjectInTurn } from '../support/in-turn.ts'
import { newFile } from '../support/new-file.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Cases } from './hunt.ts'

type Case = () => Promise<void>

export interface AllCases {
  readonly cases: Cases
  readonly end: () => void
}

/** Call it while no fault is there. */
export async function allCases(): Promise<AllCases> {
  const partner = new Partner()
  const cases = new Map<string, Case>()
  const add = (name: string, run: Case): void => void cases.set(name, run)
  storeConformance({ name: 'contract', test: add, create: () => sqliteSubject(false), random: { sequences: 60 } })
  storeConformance({
    name: 'shared',
    test: add,
    create: () => sharedSubject(partner),
    random: { sequences: 20 },
  })
  storeConformance({ name: 'remote: contract', test: add, create: remoteSubject, random: { sequences: 20 } })
  for (const [name, run] of Object.entries(remoteCases)) add(`remote: ${name}`, run)
  for (const [name, run] of Object.entries(callCases)) add(`calls: ${name}`, () => inFolder((at) => run(at('jobs.db'))))
  for (const [name, run] of Object.entries(await fileCases())) add(`files: ${name}`, run)
  const reference = await playThrough()
  add('deaths: what is left at any statement is whole, and has what was answered', () => leavesWhole(reference))
  return { cases, end: () => partner.end() }
}

async function inFolder(run: (at: (name: string) => string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder()
  try {
    await run((name) => join(folder.path, name))
  } finally {
    folder.remove()
  }
}

async function sharedSubject(partner: Partner) {
  const folder = temporaryFolder()
  const clock = movingClock()
  const store = await sharedStore(await newFile(folder.path), clock, partner)
  return {
    store,
    advance: (ms: number) => clock.advance(ms),
    async close() {
      await store.close()
      folder.remove()
    },
  }
}

/** Two stores on one map, which are called in turn. */
async function remoteSubject() {
  const [shared, clock] = [new SharedMap(), movingClock()]
  const stores = [remoteStore(new MapPort(shared, clock)), remoteStore(new MapPort(shared, clock))] as const
  for (const store of stores) await store.open({ clock })
  return subjectInTurn(...stores, clock)
}

/** Every so many statements the file and its log are copied, as they would be left by a process that dies there. */
const copyEvery = 31

async function leavesWhole({ contents, answers }: Awaited<ReturnType<typeof playThrough>>): Promise<void> {
  await inFolder(async (at) => {
    const path = at('jobs.db')
    const copies: { readonly path: string; readonly heard: number }[] = []
    let heard = 0
    let statements = 0
    const { store, play } = await playerOn(path, () => {
      if (++statements % copyEvery !== 0) return
      const copy = at(`${statements}.db`)
      for (const end of ['', '-wal']) copyFileSync(`${path}${end}`, `${copy}${end}`)
      copies.push({ path: copy, heard })
    })
    for (const index of script.keys()) {
      assert.equal(JSON.stringify(await play(index)), answers[index])
      heard++
    }
    await store.close()
    for (const copy of copies) {
      assert.deepEqual(complaintsAbout(copy.path), [])
      assert.ok(contents.slice(copy.heard, copy.heard + 2).includes(textOf(copy.path)), `after step ${copy.heard}`)
    }
    assert.deepEqual(complaintsAbout(path), [])
    assert.equal(textOf(path), contents.at(-1))
  })
}

async function refuses(path: string, code: string, says = /./): Promise<void> {
  const store = sqliteStore({ path })
  await assert.rejects(store.open({ clock: systemClock }), { code, message: says })
}

/** The number of the file's device in statfs(2), as if it were an NFS. */
const nfs = 0x6969

/** Files that are not what they should be. */
async function fileCases(): Promise<Record<string, Case>> {
  let sound = Buffer.alloc(0)
  await inFolder(async (at) => {
    const { store, play } = await playerOn(at('sound.db'))
    for (const index of script.keys()) await play(index)
    await store.close()
    sound = readFileSync(at('sound.db'))
  })
  const changed = (path: string, sql: string): void => {
    writeFileSync(path, sound)
    const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
    db.exec(sql)
    db.close()
  }
  const unsupported = Object.entries(unsupportedFiles).map(([name, { sql, says }]): [string, Case] => [
    `a file ${name} is refused`,
    () =>
      inFolder(async (at) => {
        changed(at('jobs.db'), sql)
        await refuses(at('jobs.db'), 'UNSUPPORTED', says)
      }),
  ])
  return {
    ...Object.fromEntries(unsupported),
    'an index that contradicts its table is refused': () =>
      inFolder(async (at) => {
        writeFileSync(at('sound.db'), sound)
        for (const { name, bytes } of withContradictions(at('sound.db'), sound)) {
          writeFileSync(at(`${name}.db`), bytes)
          await refuses(at(`${name}.db`), 'STORE_CORRUPT')
        }
      }),
    'a damaged job is set aside': () =>
      inFolder(async (at) => {
        changed(at('jobs.db'), damagedJob.sql)
        const { store } = await playerOn(at('jobs.db'))
        try {
          assert.deepEqual(await store.get([damagedJob.id]), [null])
          assert.deepEqual(await store.unreadable?.(), [damagedJob.id])
        } finally {
          await store.close()
        }
      }),
    'a settlement that meets damage is taken back': () => inFolder((at) => settleWithDamagedInbox(at('jobs.db'))),
    'a file on a network filesystem is refused': () =>
      inFolder(async (at) => {
        const { statfsSync } = fs
        Object.assign(fs, { statfsSync: () => ({ type: BigInt(nfs) }) })
        syncBuiltinESMExports()
        try {
          await refuses(at('jobs.db'), 'UNSUPPORTED', /is on NFS/)
        } finally {
          Object.assign(fs, { statfsSync })
          syncBuiltinESMExports()
        }
      }),
  }
}
