/** The address of a store, as it is given on a command line. */
import { invalidOption, JobchartError } from '../core/errors.ts'

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

type StoreAddress = SqliteAddress | RedisAddress

const hint = 'Pass --store sqlite:jobs.db or --store redis://localhost:6379?prefix=shop, or set JOBCHART_STORE.'

/** @throws JobchartError INVALID_OPTION, UNSUPPORTED */
export function parseAddress(address: string | undefined): StoreAddress {
  if (address === undefined || address === '') throw new JobchartError('INVALID_OPTION', 'no store was named', { hint })
  const [, scheme, rest = ''] = /^([a-z]+):(.*)$/is.exec(address) ?? []
  const kind = scheme?.toLowerCase()
  if (kind === 'redis' || kind === 'rediss') return redisAddress(address)
  if (kind === 'sqlite' && rest !== '') return { kind, path: rest.startsWith('//') ? rest.slice(2) : rest }
  if (kind === 'postgres' || kind === 'postgresql') {
    throw new JobchartError('UNSUPPORTED', `a ${kind}:// store is not available in this version of jobchart`, {
      hint: 'This version has stores on a SQLite file and on a Redis server.',
    })
  }
  const meant = scheme === undefined ? `Did you mean sqlite:${address}?` : hint
  throw invalidOption('--store', 'an address such as sqlite:jobs.db or redis://localhost:6379', address, meant)
}

function redisAddress(address: string): RedisAddress {
  if (!URL.canParse(address) || !address.includes('://')) {
    // The address may have a password: it is not repeated.
    throw new JobchartError('INVALID_OPTION', '--store is not an address of a Redis server', {
      hint: 'The form is redis://user:password@host:6379/0?prefix=shop; rediss:// for TLS.',
    })
  }
  const url = new URL(address)
  const { prefix, ...unknown } = Object.fromEntries(url.searchParams)
  const [name] = Object.keys(unknown)
  if (name !== undefined) {
    throw new JobchartError('INVALID_OPTION', `--store: unknown parameter ${name}`, {
      hint: 'The address of a Redis server takes one: ?prefix=shop.',
    })
  }
  url.search = ''
  const where = `${url.host === '' ? 'localhost' : url.host}${prefix === undefined ? '' : `, prefix ${prefix}`}`
  return { kind: 'redis', url: url.href, prefix, where }
}
