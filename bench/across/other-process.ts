/** The other process of a measurement, and its messages. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { verifyEqual } from '../harness/ledger.ts'
import type { StoreLocation } from '../harness/stores.ts'
import type { WorkerMessage } from './worker.ts'

/** Both processes are idle so long before each job; by chance, so that no polling falls into step with the jobs. */
const pauseMs = { least: 20, most: 120 }

export const idleForAWhile = (): Promise<void> => pause(pauseMs.least + Math.random() * (pauseMs.most - pauseMs.least))

export class OtherProcess {
  private readonly forked

  private constructor(location: StoreLocation) {
    const worker = fileURLToPath(new URL('worker.ts', import.meta.url))
    this.forked = fork(worker, [JSON.stringify(location)], { stdio: ['ignore', 2, 2, 'ipc'] })
  }

  static async on(location: StoreLocation): Promise<OtherProcess> {
    const process = new OtherProcess(location)
    verifyEqual('the other process', await process.nextMessage(), 'ready')
    return process
  }

  async nextMessage(): Promise<WorkerMessage> {
    return (await once(this.forked, 'message'))[0] as WorkerMessage
  }

  async end(): Promise<void> {
    this.forked.disconnect()
    await once(this.forked, 'exit')
  }
}
