/**
 * What a producer does with one machine: enqueues it, tells it its numbers one after the other, and in the end that it
 * is the end. Everything is safe to repeat, and is repeated by whoever follows a producer that was killed.
 */
import { JobchartError, type Client, type Logger } from 'jobchart'
import { isEnded, type JobState } from '../../../src/core/lifecycle.ts'
import { sleep } from '../../harness/sleep.ts'
import type { Kind, MachineJob } from './jobs.ts'
import type { StormEvent } from './parts.ts'
import type { MachineTask } from './plan.ts'

/** Until it is done. */
type Surely = (call: () => Promise<unknown>) => Promise<void>

export class Driver {
  private readonly jobs: ReadonlyMap<Kind, MachineJob>
  private readonly client: Client
  private readonly surely: Surely
  private readonly logger: Logger

  constructor(client: Client, jobs: ReadonlyMap<Kind, MachineJob>, surely: Surely, logger: Logger) {
    this.client = client
    this.jobs = jobs
    this.surely = surely
    this.logger = logger
  }

  async drive(task: MachineTask): Promise<void> {
    const { id, kind, input, gapsMs, twice, cancelAfter, cheers } = task
    const job = this.jobs.get(kind)
    if (job === undefined) throw new TypeError(`there is no machine ${kind}`)
    await this.surely(() => this.client.enqueue(job, input, { id }))
    if (cheers !== null) await this.tell(cheers, { type: 'CHEER', from: Number(id.slice(1)) }, `cheer of ${id}`)
    for (const [i, gapMs] of gapsMs.entries()) {
      if (cancelAfter === i) await this.cancel(id)
      await sleep(gapMs)
      const n = i + 1
      const event: StormEvent = n === gapsMs.length ? { type: 'END' } : { type: 'NUM', n }
      const said = [this.tellUntilOver(task, event, `${n}`)]
      if (twice.has(n)) said.push(this.tellUntilOver(task, event, `${n}`))
      if ((await Promise.all(said)).includes(false)) return
    }
  }

  /** A cancel that is repeated is no repetition: it does not wait for the machine any more. */
  private async cancel(id: string): Promise<void> {
    await this.surely(async () => {
      const handle = await this.client.job(id)
      if ((await handle?.record())?.cancelReason === null) await this.client.cancel(id, { reason: 'storm' })
    })
  }

  /** Who is dead and was frail is sent through again, and told again. */
  private async tellUntilOver({ id, kind }: MachineTask, event: StormEvent, key: string): Promise<boolean> {
    while (!(await this.tell(id, event, key))) {
      const state = await this.stateOf(id)
      const mayGoOn = state === 'dead' && kind === 'frail'
      if (mayGoOn) await this.surely(() => this.client.retry(id))
      else if (state === undefined || isEnded(state)) return false
      // Somebody else has just sent it through again, or it is about to end.
      else await sleep(50)
    }
    return true
  }

  private async stateOf(id: string): Promise<JobState | undefined> {
    let state: JobState | undefined
    await this.surely(async () => (state = (await (await this.client.job(id))?.record())?.state))
    return state
  }

  /** Was it taken? */
  private async tell(id: string, event: StormEvent, key: string): Promise<boolean> {
    for (;;) {
      try {
        await this.client.send(id, event, { key })
        return true
      } catch (error) {
        const code = error instanceof JobchartError ? error.code : null
        // Somebody else's machine may not be there yet.
        if (code === 'NOT_ACCEPTED' || code === 'NOT_FOUND') return false
        this.logger.warn('a send failed; again', { id, error })
        await sleep(100)
      }
    }
  }
}
