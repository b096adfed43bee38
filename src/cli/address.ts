/** The address in the option `--store`. */
import { parseAddress, type RedisAddress, type SqliteAddress } from '../core/address.ts'
import { JobchartError } from '../core/errors.ts'

const hint = 'Pass --store sqlite:jobs.db or --store redis://localhost:6379?prefix=shop, or set JOBCHART_STORE.'

/** @throws JobchartError INVALID_OPTION, UNSUPPORTED */
export function storeAddress(address: string | undefined): SqliteAddress | RedisAddress {
  if (address === undefined || address === '') throw new JobchartError('INVALID_OPTION', 'no store was named', { hint })
  const parsed = parseAddress(address, '--store')
  if (parsed.kind === 'memory') {
    throw new JobchartError('INVALID_OPTION', '--store: the jobs of memory: are in the process that has them', { hint })
  }
  return parsed
}
