/**
 * How a stored state of a machine says what JSON cannot: errors and actors. Data of users with these keys is escaped.
 */

/** All of these keys begin so, escaped ones too. */
export const markPrefix = 'jobchart$'
export const errorKey = 'jobchart$error'
export const actorKey = 'jobchart$actor'
export const notStorableKey = 'jobchart$notKept'

const escapable = /^jobchart\$+(?:error|actor|notKept)$/

export const escaped = (key: string): string =>
  key.startsWith(markPrefix) && escapable.test(key) ? key.replace('$', '$$$$') : key

export const unescaped = (key: string): string =>
  key.startsWith('jobchart$$') && escapable.test(key) ? key.replace('$', '') : key
