/** Fields of a row as operations read and write them, over its texts. */
import type { FieldReaders, FieldWriters, ReadFields } from '../../core/row-fields.ts'
import { errorsOf } from './history-text.ts'
import type { Row } from './row.ts'

export const readers: FieldReaders<Row> = {
  logs: (row) => row.json<ReadFields['logs']>('logs', []),
  error: (row) => row.json<ReadFields['error']>('error', null),
  errors: (row) => errorsOf({ errors: row.text('errors') ?? '' }),
  input: (row) => row.json<ReadFields['input']>('input', undefined),
  output: (row) => row.json<ReadFields['output']>('output', undefined),
  tags: (row) => row.json<ReadFields['tags']>('tags', []),
  meta: (row) => row.json<ReadFields['meta']>('meta', {}),
  enqueuedAt: (row) => row.number('enqueuedAt') ?? 0,
  checkpointAt: (row) => row.number('checkpointAt') ?? 0,
}

export const writers: FieldWriters<Row> = {
  maxAttempts: (row, maxAttempts) => row.set('maxAttempts', maxAttempts),
  onDead: (row, type) => row.set('onDead', type),
  cancelMark: (row, mark) => row.setJson('cancel', mark),
  checkin: (row, checkin) => row.setJson('checkin', checkin),
  logs: (row, lines) => row.setJson('logs', lines),
  error: (row, error) => row.setJson('error', error),
  failure: (row, fingerprint) => row.set('failure', fingerprint),
  errors: (row, errors) => row.set('errors', errors.map((each) => JSON.stringify(each)).join('\n')),
  input: (row, input) => row.setPayload('input', input),
  output: (row, output) => row.setPayload('output', output),
  gather(row, gather) {
    row.makeMachine()
    row.setJson('gather', gather)
  },
  messageKeys(row, keys) {
    row.makeMachine()
    row.setJson('messageKeys', keys)
  },
  unsupported(row, unsupported) {
    row.makeMachine()
    row.setJson('unsupported', unsupported)
  },
}
