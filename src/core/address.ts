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

type StoreAddress = MemoryAddress | SqliteAddress | RedisAddress

/**
 * Reads `redis://…`, `rediss://…`, `sqlite:FILE`, the path of a file, or `memory:`.
 * @param option the name of what was given, for messages
 * @throws JobchartError INVALID_OPTION; UNSUPPORTED for a server that this version has no store on
 */
export function parseAddress(address: string, option: string): StoreAddress {
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
      throw new JobchartError('UNSUPPORTED', `${option}: this version of jobchart has no store on PostgreSQL`, {
        hint: 'This version has stores in memory, on a SQLite file and on a Redis server.',
      })
    case undefined:
      if (address !== '') return { kind: 'sqlite', path: address }
  }
  const forms = 'an address such as jobs.db, sqlite:jobs.db, redis://localhost:6379 or memory:'
  // The address may have a password: it is not repeated.
  throw invalidOption(option, forms, scheme === undefined ? address : `${scheme}:…`)
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
