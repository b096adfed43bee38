/** Does a job pass a filter? */
import { valueOf } from '../../core/cell.ts'
import { hasMeta, inTime } from '../../core/cursor.ts'
import type { JobRow } from '../../core/job-row.ts'
import type { JobFilter } from '../../store.ts'

const isAny = <T>(wanted: T | readonly T[] | undefined, value: T): boolean =>
  wanted === undefined || (Array.isArray(wanted) ? wanted.includes(value) : wanted === value)

export function matches(row: JobRow, filter: JobFilter): boolean {
  const { type, state, tag, key, concurrencyKey, meta, failure, unsupported, parent, machineState, machineTag } = filter
  const { machine } = row
  return (
    isAny(type, row.type) &&
    isAny(state, row.state) &&
    (tag === undefined || valueOf(row.terms.tags).includes(tag)) &&
    (key === undefined || row.key === key) &&
    (concurrencyKey === undefined || row.concurrencyKey === concurrencyKey) &&
    (meta === undefined || hasMeta(valueOf(row.terms.meta), meta)) &&
    (failure === undefined || isAny<string | null>(failure, row.rarely.failure)) &&
    (unsupported === undefined || (machine !== null && machine.unsupported !== null)) &&
    (parent === undefined || machine?.parent?.id === parent) &&
    (machineState === undefined || machine?.states.includes(machineState) === true) &&
    (machineTag === undefined || machine?.tags.includes(machineTag) === true) &&
    inTime(filter, row.enqueuedAt, row.finishedAt)
  )
}
