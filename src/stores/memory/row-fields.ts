/** Fields of a row as operations read and write them. */
import { copyPayload } from '../../core/payload.ts'
import type { FieldReaders, FieldWriters } from '../../core/row-fields.ts'
import type { Row } from './row.ts'

export const readers: FieldReaders<Row> = {
  logs: ({ past }) => past?.logs ?? [],
  error: ({ past }) => past?.error ?? null,
  errors: ({ past }) => past?.errors ?? [],
  input: ({ input }) => copyPayload(input),
  output: ({ run }) => run?.output,
  tags: ({ terms }) => terms.tags,
  meta: ({ terms }) => terms.meta ?? {},
  enqueuedAt: ({ came }) => came.at,
  checkpointAt: ({ machine }) => machine?.checkpoint?.at ?? 0,
}

export const writers: FieldWriters<Row> = {
  maxAttempts(row, maxAttempts) {
    row.terms = row.terms.with({ maxAttempts })
  },
  onDead(row, type) {
    row.remember().onDead = type
  },
  cancelMark(row, mark) {
    if (row.past !== null || mark !== null) row.remember().cancel = mark
  },
  checkin(row, checkin) {
    row.remember().checkin = checkin
  },
  logs(row, lines) {
    row.remember().logs = lines
  },
  error(row, error) {
    if (row.past !== null || error !== null) row.remember().error = error
  },
  failure(row, fingerprint) {
    if (row.past !== null || fingerprint !== null) row.remember().failure = fingerprint
  },
  errors(row, errors) {
    row.remember().errors = errors
  },
  input(row, input) {
    row.input = input
  },
  output({ run }, output) {
    if (run !== null) run.output = output
  },
  gather(row, gather) {
    row.withMachine().gather = gather
  },
  messageKeys(row, keys) {
    row.withMachine().messageKeys = keys
  },
  unsupported(row, unsupported) {
    row.withMachine().unsupported = unsupported
  },
}
