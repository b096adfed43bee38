/** Catching up: makes hints of the transitions that other processes have written. */
import { movesAfter, oldestOf } from './log.ts'
import type { FileUnit } from './unit.ts'

/**
 * Makes hints of what other processes have written since the transition `from`. If that number is unknown (null: the
 * file has just been opened, or a transaction was rolled back) or the log was cut behind it, every queue may have
 * changed.
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
