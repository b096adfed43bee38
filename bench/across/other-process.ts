/** The other process of a measurement, and what it tells. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { verifyEqual } from '../harness/ledger.ts'
import type { Place } from '../harness/store-file.ts'
import type { Told } from './worker.ts'

/** Both processes are idle that long before each job, and nobody's polling falls into step with us. */
const pauseMs = { least: 20, most: 120 }

export const idleForAWhile = (): Promise<void> => pause(pauseMs.least + Math.random() * (pauseMs.most - pauseMs.least))

export class OtherProcess {
  private readonly forked

  private constructor(place: Place) {
    const worker = fileURLToPath(new URL('worker.ts', import.meta.url))
    this.forked = fork(worker, [JSON.stringify(place)], { stdio: ['ignore', 2, 2, 'ipc'] })
  }

  static async at(place: Place): Promise<OtherProcess> {
    const process = new OtherProcess(place)
    verifyEqual('the other process', await process.told(), 'ready')
    return process
  }

  /** What it tells next. */
  async told(): Promise<Told> {
    return (await once(this.forked, 'message'))[0] as Told
  }

  async end(): Promise<void> {
    this.forked.disconnect()
    await once(this.forked, 'exit')
  }
}
