/** Catching up: makes hints of the transitions that other processes have written. */
import { movesAfter, oldestOf } from './log.ts'
import type { JobFile } from './job-file.ts'

/**
 * Makes hints of what other processes have written since the transition `from`. If that number is unknown (null: the
 * file has just been opened, or a transaction was rolled back) or the log was cut behind it, every queue may have
 * changed.
 */
export function catchUp(file: JobFile, from: number | null): void {
  file.inboxWatch.catchUp()
  file.schedules.catchUp()
  for (const queue of file.queues.switchedElsewhere()) file.hints.switched(queue)
  if (file.seq === from) return
  const oldest = oldestOf(file)
  if (from === null || oldest > from + 1) {
    for (const queue of file.queues.all()) file.hints.look(queue)
  }
  for (const { id, type, from: left, to } of movesAfter(file, Math.max(from ?? file.seq, oldest - 1), -1)) {
    file.hints.moved(file.queues.of(type), id, left, to)
  }
  const due = file.sql.get('nextDue')?.[0]
  if (typeof due === 'number') file.hints.due(due)
}
