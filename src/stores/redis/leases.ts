/**
 * The index of leases: jobs by the end of their lease, and claims, whose jobs have one lease while nothing else happens
 * to them. A claim begins with a character that no job begins with, and names its jobs in a hash.
 */
import type { Commands, Reply } from './connection.ts'
import { memberId, type Keys } from './keys.ts'

const claimMark = '\x01'

/** The name of a claim; null for a job. */
export const claimOf = (member: string): string | null => (member.startsWith(claimMark) ? member.slice(1) : null)

/** The ids of leased jobs. Of a claim also those that have ended, or have a lease of their own by now. */
export async function leasedIds(redis: Commands, keys: Keys): Promise<string[]> {
  const members = (await redis.send(['ZRANGE', keys.leases, '0', '-1'])) as readonly string[]
  const names = members.flatMap((member) => claimOf(member) ?? [])
  const lists = names.length === 0 ? [] : ((await redis.send(['HMGET', keys.claims, ...names])) as readonly Reply[])
  const own = members.flatMap((member) => (claimOf(member) === null ? [memberId(member)] : []))
  const ofClaims = lists.flatMap((ids) => (typeof ids === 'string' ? ids.split('\0') : []))
  return [...new Set([...own, ...ofClaims])]
}
