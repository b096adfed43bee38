/** The address in the option `--store`. */
import { parseAddress, type PostgresAddress, type RedisAddress, type SqliteAddress } from '../core/address.ts'
import { JobchartError } from '../core/errors.ts'

const hint =
  'Pass --store sqlite:jobs.db, redis://localhost:6379?prefix=shop or postgres://localhost/app, or set JOBCHART_STORE.'

/** @throws JobchartError INVALID_OPTION */
export function storeAddress(address: string | undefined): SqliteAddress | RedisAddress | PostgresAddress {
  if (address === undefined || address === '') throw new JobchartError('INVALID_OPTION', 'no store was named', { hint })
  const parsed = parseAddress(address, '--store', hint)
  if (parsed.kind === 'memory') {
    throw new JobchartError('INVALID_OPTION', '--store: the jobs of memory: are in the process that has them', { hint })
  }
  return parsed
}
