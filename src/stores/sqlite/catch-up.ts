/** Catching up: what other processes have written, as hints for this one. */
import { movesAfter, oldestOf } from './log.ts'
import type { FileUnit } from './unit.ts'

/**
 * Takes note of what other processes have done since the move `from`. If that is not known (null: the file has just been
 * opened, or a transaction was rolled back) or not in the log any more, it may have concerned any queue.
 */
export function catchUp(unit: FileUnit, from: number | null): void {
  unit.inboxWatch.catchUp()
  unit.schedules.catchUp()
  for (const queue of unit.queues.switchedElsewhere()) unit.hints.switched(queue)
  if (unit.seq === from) return
  if (from === null || oldestOf(unit) > from + 1) {
    for (const queue of unit.queues.all()) unit.hints.look(queue)
  }
  for (const { id, type, from: left, to } of movesAfter(unit, from ?? unit.seq, -1)) {
    unit.hints.moved(unit.queues.of(type), id, left, to)
  }
  const due = unit.sql.get('nextDue')?.[0]
  if (typeof due === 'number') unit.hints.due(due)
}
