/**
 * Names as parts of a path. A URL drops the parts `.` and `..`, however they are encoded: a tilde is put before these
 * names, and before those that are tildes and one of them.
 */

/** The part of a path that stands for a name: the id of a job, a type, the name of a schedule. */
export const segmentOf = (name: string): string => `${/^~*\.\.?$/.test(name) ? '~' : ''}${encodeURIComponent(name)}`

const escaped = /\/(?:~|%7e)((?:~|%7e)*(?:\.|%2e){1,2})(?=\/|$)/gi

/** The path with the names themselves, which a router reads. */
export const withNames = (path: string): string => path.replaceAll(escaped, '/$1')
