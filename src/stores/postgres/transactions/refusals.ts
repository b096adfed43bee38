/** What a server says of a call in a transaction, as the errors of libraries pass it on. */

/** Of the functions of this store, by the codes that they raise. */
const codes: Readonly<Record<string, Refusal>> = {
  JC001: 'TX_OTHER_DATABASE',
  JC002: 'TX_NOT_OPEN',
  JC004: 'LEASE_LOST',
  JC005: 'END_WRITTEN',
  // A statement of the transaction has failed, which pg does not know before the server is ready again.
  '25P02': 'TX_ABORTED',
  '25006': 'TX_READ_ONLY',
  '42501': 'TX_WITHOUT_RIGHTS',
  // There is no such schema, or no such function in it.
  '3F000': 'TX_OTHER_DATABASE',
  '42883': 'TX_OTHER_DATABASE',
}

export type Refusal =
  | 'TX_OTHER_DATABASE'
  | 'TX_NOT_OPEN'
  | 'TX_ABORTED'
  | 'TX_READ_ONLY'
  | 'TX_WITHOUT_RIGHTS'
  | 'LEASE_LOST'
  | 'END_WRITTEN'

/** Members in which libraries keep the error of the driver. */
const inner = ['cause', 'driverError', 'originalError', 'meta', 'driverAdapterError'] as const
const depthMax = 6

/** @returns null if the error is about something else */
export function refusalIn(error: unknown, depth = 0): Refusal | null {
  if (typeof error !== 'object' || error === null || depth === depthMax) return null
  const members = error as Readonly<Record<string, unknown>>
  for (const name of ['code', 'originalCode']) {
    const code = members[name]
    const known = typeof code === 'string' ? codes[code] : undefined
    if (known !== undefined) return known
  }
  for (const name of inner) {
    const found = refusalIn(members[name], depth + 1)
    if (found !== null) return found
  }
  return null
}
