/**
 * Plain SQL, as one would write it at first: the table and the statements of the floor, but a claim and the ends of its
 * jobs are a transaction each, and each end is a statement.
 */
import type { FileQueue } from '../sqlite/file-queue.ts'
import { Floor, type Claimed } from './sqlite-floor.ts'

const complete = 'UPDATE jobs SET state = 2, ended_at = ? WHERE id = ? AND state = 1'

class Plain extends Floor {
  override async process(): Promise<void> {
    const claiming = this.claiming()
    const completing = this.db.prepare(complete)
    for (;;) {
      this.begin.run()
      const batch = claiming.all(Date.now(), this.work.slots) as unknown as Claimed[]
      this.commit.run()
      if (batch.length === 0) return
      await this.run(batch)
      const now = Date.now()
      this.begin.run()
      for (const [id] of batch) completing.run(now, id)
      this.commit.run()
    }
  }
}

export const contender: FileQueue = { open: async (work) => new Plain(work) }
