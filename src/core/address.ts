/** The address of a store, as text: on a command line, in the environment, in the option `store`. */
import { invalidOption, JobchartError } from './errors.ts'

interface MemoryAddress {
  readonly kind: 'memory'
}

export interface SqliteAddress {
  readonly kind: 'sqlite'
  readonly path: string
}

export interface RedisAddress {
  readonly kind: 'redis'
  /** Without the prefix. */
  readonly url: string
  /** Undefined: the default of `redisStore`. */
  readonly prefix: string | undefined
  /** For messages: the server and the prefix, never a password. */
  readonly where: string
}

export interface PostgresAddress {
  readonly kind: 'postgres'
  /** Without the schema. */
  readonly url: string
  /** Undefined: the default of `postgresStore`. */
  readonly schema: string | undefined
  /** For messages: the server and the schema, never a password. */
  readonly where: string
}

type StoreAddress = MemoryAddress | SqliteAddress | RedisAddress | PostgresAddress

/** A name of a store is no file: `sqlite:memory` is. */
const kinds = /^(memory|sqlite|rediss?|postgres(ql)?)$/i

/**
 * Reads `redis://…`, `rediss://…`, `postgres://…`, `sqlite:FILE`, the path of a file, or `memory:`.
 * @param option the name of what was given, for messages
 * @param hint for what is no address at all
 * @throws JobchartError INVALID_OPTION
 */
export function parseAddress(address: string, option: string, hint?: string): StoreAddress {
  // One letter before the colon is a drive.
  const [, scheme, rest = ''] = /^([a-z][a-z+]+):(.*)$/is.exec(address) ?? []
  switch (scheme?.toLowerCase()) {
    case 'redis':
    case 'rediss':
      return redisAddress(address, option)
    case 'sqlite':
      if (rest !== '') return { kind: 'sqlite', path: rest.startsWith('//') ? rest.slice(2) : rest }
      break
    case 'memory':
      if (rest === '') return { kind: 'memory' }
      break
    case 'postgres':
    case 'postgresql':
      return postgresAddress(address, option)
    case undefined:
      if (address !== '' && !kinds.test(address)) return { kind: 'sqlite', path: address }
  }
  const forms =
    'an address such as jobs.db, sqlite:jobs.db, redis://localhost:6379, postgres://localhost/app or memory:'
  // The address may have a password: it is not repeated.
  throw invalidOption(option, forms, scheme === undefined ? address : `${scheme}:…`, hint)
}

function redisAddress(address: string, option: string): RedisAddress {
  if (!URL.canParse(address) || !address.includes('://')) {
    throw new JobchartError('INVALID_OPTION', `${option} is not an address of a Redis server`, {
      hint: 'The form is redis://user:password@host:6379/0?prefix=shop; rediss:// for TLS.',
    })
  }
  const url = new URL(address)
  const { prefix, ...unknown } = Object.fromEntries(url.searchParams)
  const [name] = Object.keys(unknown)
  if (name !== undefined) {
    throw new JobchartError('INVALID_OPTION', `${option}: unknown parameter ${name}`, {
      hint: 'The address of a Redis server takes one: ?prefix=shop.',
    })
  }
  url.search = ''
  const where = `${url.host === '' ? 'localhost' : url.host}${prefix === undefined ? '' : `, prefix ${prefix}`}`
  return { kind: 'redis', url: url.href, prefix, where }
}

/** The address of a server of PostgreSQL may list hosts; all its parameters but `schema` are the driver's. */
function postgresAddress(address: string, option: string): PostgresAddress {
  const [, before, hosts = '', path = '', query = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?]*)(\/[^?]*)?(?:\?(.*))?$/is.exec(address) ?? []
  if (before === undefined) {
    throw new JobchartError('INVALID_OPTION', `${option} is not an address of a PostgreSQL server`, {
      hint: 'The form is postgres://user:password@host:5432/database?schema=shop.',
    })
  }
  const parameters = new URLSearchParams(query)
  const schema = parameters.get('schema') ?? undefined
  parameters.delete('schema')
  const url = `${before}${hosts}${path}${parameters.size > 0 ? `?${parameters.toString()}` : ''}`
  const server = `${hosts === '' ? 'localhost' : hosts}${path}`
  return { kind: 'postgres', url, schema, where: schema === undefined ? server : `${server}, schema ${schema}` }
}
