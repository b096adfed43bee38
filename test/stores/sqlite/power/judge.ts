/** Opens what a power cut has left, and says which promises it breaks. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteStore } from 'jobchart/sqlite'
import { systemClock } from '../../../../src/core/clock.ts'
import type { JobState } from '../../../../src/core/lifecycle.ts'
import { newJob, put } from '../../../../src/store-testing/conformance/acts.ts'
import { complaintsAbout } from '../consistency.ts'

export const dataFile = 'jobs.db'
export const acksFile = 'acks'

/** What a process was answered before the power failed. */
export type Ack =
  | { readonly what: 'enqueue'; readonly id: string }
  | { readonly what: 'claim'; readonly id: string; readonly attempt: number }
  | { readonly what: 'settle'; readonly id: string; readonly state: JobState }

export interface Verdict {
  /** Acknowledged and not there. */
  readonly lost: readonly string[]
  /** What is wrong with the file itself. */
  readonly damage: readonly string[]
}

/** @param folder is made for the image, and removed */
export async function judge(
  image: ReadonlyMap<string, Buffer>,
  acks: readonly Ack[],
  folder: string,
): Promise<Verdict> {
  mkdirSync(folder)
  try {
    for (const [name, bytes] of image) if (name !== acksFile) writeFileSync(join(folder, name), bytes)
    const path = join(folder, dataFile)
    const store = sqliteStore({ path, durability: 'normal' })
    try {
      await store.open({ clock: systemClock })
    } catch (error) {
      return { lost: [], damage: [`it is not opened: ${String(error)}`] }
    }
    const lost: string[] = []
    const damage: string[] = []
    try {
      const records = await store.get([...new Set(acks.map(({ id }) => id))])
      const found = new Map(records.flatMap((record) => (record === null ? [] : [[record.id, record]])))
      for (const ack of acks) {
        const record = found.get(ack.id)
        if (record === undefined) lost.push(`${ack.what} of ${ack.id}: there is no such job`)
        else if (ack.what === 'claim' && record.attempt < ack.attempt) lost.push(`the claim of ${ack.id}`)
        else if (ack.what === 'settle' && record.state !== ack.state) lost.push(`the end of ${ack.id}`)
      }
      await put(store, newJob('a job after the power cut'))
    } catch (error) {
      damage.push(`it cannot be worked on: ${String(error)}`)
    }
    await store.close()
    return { lost, damage: [...damage, ...complaintsAbout(path)] }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
