/** What a server says of itself. */
import { JobchartError } from '../../core/errors.ts'
import type { Connection } from './connection.ts'

const oldest = 14

/** @throws JobchartError UNSUPPORTED, STORE_UNAVAILABLE */
export async function checkServer(connection: Connection, where: string): Promise<void> {
  const [row] = await connection.query(
    "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')",
  )
  const [version, encoding] = (row ?? []) as [number, string]
  if (version < oldest * 10_000) {
    throw new JobchartError(
      'UNSUPPORTED',
      `PostgreSQL at ${where} is version ${Math.floor(version / 10_000)}, and at least ${oldest} is needed`,
      { hint: 'Update the server.' },
    )
  }
  if (encoding !== 'UTF8') {
    throw new JobchartError('UNSUPPORTED', `the database at ${where} has the encoding ${encoding}`, {
      hint: "Use one with UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
    })
  }
}
