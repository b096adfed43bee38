/** A user of a Redis server with the rights that the guide names, and no others. */
import { readFileSync } from 'node:fs'
import type { RedisServer } from './redis-process.ts'

const guide = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8')

/** The rights for a prefix, as the guide has them for `shop`. */
function rightsFor(prefix: string): string[] {
  const [rights] = /~\{shop\}.*(?=`)/.exec(guide) ?? []
  if (rights === undefined) throw new Error('docs/redis.md names no rights')
  return rights.replaceAll('{shop}', `{${prefix}}`).split(' ')
}

/**
 * Makes a user who may use these prefixes, or lets the one of that name use them, too.
 * @returns the address for that user
 */
export async function addressFor(server: RedisServer, user: string, ...prefixes: readonly string[]): Promise<string> {
  await server.command('ACL', 'SETUSER', user, 'on', '>secret', ...prefixes.flatMap(rightsFor))
  return server.url.replace('redis://', `redis://${user}:secret@`)
}

/** The same, of a user who may not use functions. */
export async function addressWithoutFunctions(server: RedisServer, user: string, prefix: string): Promise<string> {
  const url = await addressFor(server, user, prefix)
  await server.command('ACL', 'SETUSER', user, '-fcall', '-function', '+eval', '+evalsha')
  return url
}
