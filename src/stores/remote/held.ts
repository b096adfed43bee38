/** Rows of jobs that somebody else holds, such as the open transaction of a handler that ends its job. */
import { counted } from '../../core/counted.ts'
import { JobchartError } from '../../core/errors.ts'

/** @param where a server, for the message */
export function heldByOthers(ids: readonly string[], where?: string): JobchartError {
  const what = `another transaction holds the rows of ${counted(ids.length, 'job')}`
  return new JobchartError('STORE_UNAVAILABLE', where === undefined ? what : `${where}: ${what}`, {
    hint: 'End that transaction. Without one, row security hides these rows from this user: `jobchart doctor` tells.',
    cause: new Error(what),
  })
}

/** Is it the error of an item that was left out for that? */
export const isHeld = (error: { readonly code?: string } | undefined): boolean => error?.code === 'STORE_UNAVAILABLE'
