/**
 * Statements about rows of jobs, and what is kept beside them, as the tables of every database with SQL have it. The
 * parameters of those that write are made by `write-row.ts`.
 */
import { columns, columnsFor, machineColumns } from './columns.ts'
import type { Dialect } from './dialect.ts'
import { never } from './row.ts'

const transitionColumns =
  'state, place, attempt, generation, due_at, lease_at, token, worker, started_at, finished_at, last_seq, held_key, due_after, output, settled, history'
const machineParameters = ', ?'.repeat(machineColumns.split(',').length)
const assigned = (list: string): string => list.replaceAll(/\w+/g, (name) => `${name} = ?`)
const replaced = (list: string): string => list.replaceAll(/\w+/g, (name) => `${name} = excluded.${name}`)

const readingTexts = (dialect: Dialect) => ({
  existing: `SELECT id, queue FROM jobs WHERE id IN ${dialect.list('?')}`,
  byId: `SELECT ${columns} FROM jobs WHERE id = ?`,
  holder: `SELECT ${columns} FROM jobs WHERE queue = ? AND held_key = ?`,
  anyPredecessor: `SELECT 1 FROM ${dialect.table('jobs', 'leaving')} WHERE held_key IS NULL AND key IS NOT NULL AND finished_at IS NULL
    LIMIT 1`,
  predecessor: `SELECT 1 FROM ${dialect.table('jobs', 'leaving')} WHERE queue = ? AND key = ? AND key IS NOT NULL AND held_key IS NULL
    AND finished_at IS NULL LIMIT 1`,
  stepsOf: 'SELECT name, result FROM steps WHERE job = ? ORDER BY step',
  due: `SELECT ${columns} FROM ${dialect.table('jobs', 'due')} WHERE due_at <= ? ORDER BY due_at, seq ${dialect.limit('?')}`,
  nextDue: `SELECT due_at FROM ${dialect.table('jobs', 'due')} WHERE due_at < ${never} ORDER BY due_at LIMIT 1`,
  expired: `SELECT ${columns} FROM ${dialect.table('jobs', 'leases')} WHERE lease_at <= ? ORDER BY lease_at, seq ${dialect.limit('?')}`,
  nextLease: `SELECT lease_at FROM ${dialect.table('jobs', 'leases')} WHERE lease_at IS NOT NULL ORDER BY lease_at LIMIT 1`,
  leased: `SELECT ${columnsFor(['checkin'])} FROM ${dialect.table('jobs', 'leases')} WHERE lease_at IS NOT NULL ORDER BY started_at, seq`,
  leasesByWorker: `SELECT worker, count(*) FROM ${dialect.table('jobs', 'leases')} WHERE lease_at IS NOT NULL GROUP BY worker`,
  ended: `SELECT seq, finished_at, checkpointed_attempts, failure, tags FROM ${dialect.table('jobs', 'ended')}
    WHERE queue = ? AND state = ? AND finished_at IS NOT NULL ORDER BY last_seq ${dialect.limit('?')}`,
  machine: `SELECT ${machineColumns} FROM machines WHERE job = ?`,
  checkpointAt: 'SELECT state, at FROM checkpoints WHERE seq = ?',
  checkpointsOf: 'SELECT number, state, seq, at, note FROM checkpoints WHERE job = ? ORDER BY number',
  messagesAfter: 'SELECT number, at, message FROM messages WHERE job = ? AND number > ? ORDER BY number',
  anyChild: `SELECT 1 FROM ${dialect.table('machines', 'children')} WHERE parent IS NOT NULL LIMIT 1`,
  childrenOf: `SELECT id FROM ${dialect.join(dialect.table('machines', 'children'), 'jobs', 'seq = job')}
    WHERE parent = ? AND finished_at IS NULL ORDER BY priority DESC, seq`,
})

const writingTexts = (dialect: Dialect) => ({
  addPlain: `INSERT INTO jobs (seq, place, last_seq, id, queue, state, priority, attempt, max_attempts, generation,
    enqueued_at, history, input)
    VALUES (?1, ?1, ?1, ?2, ?3, ?4, ?5, 0, ?6, 1, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING`,
  add: `INSERT INTO jobs (seq, place, last_seq, id, queue, state, priority, attempt, max_attempts, generation,
    enqueued_at, history, input, due_at, key, held_key, concurrency_key, tags, meta, options, checkpointed_attempts)
    VALUES (?1, ?1, ?1, ?2, ?3, ?4, ?5, 0, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (id) DO NOTHING`,
  writeTransition: `UPDATE jobs SET ${assigned(transitionColumns)} WHERE seq = ?`,
  writeClaim: `UPDATE jobs SET ${assigned('state, attempt, lease_at, token, worker, started_at, last_seq, history')}, due_after = NULL WHERE seq = ?`,
  writeEnd: `UPDATE jobs SET lease_at = NULL, held_key = NULL,
    ${assigned('state, attempt, token, finished_at, last_seq, output, settled, history')} WHERE seq = ?`,
  writeErrors: 'UPDATE jobs SET error = ?, errors = ?, failure = ? WHERE seq = ?',
  writeData: `UPDATE jobs SET ${assigned('input, tags, meta, checkin, logs, cancel')} WHERE seq = ?`,
  writeMaxAttempts: 'UPDATE jobs SET max_attempts = ? WHERE seq = ?',
  writeOptions: 'UPDATE jobs SET options = ? WHERE seq = ?',
  writeLease: 'UPDATE jobs SET lease_at = ? WHERE seq = ?',
  saveStep: `INSERT INTO steps (job, name, result) VALUES (?, ?, ?)
    ON CONFLICT (job, name) DO UPDATE SET result = excluded.result`,
  forgetSteps: 'DELETE FROM steps WHERE job = ?',
  forgetNamedSteps: `DELETE FROM steps WHERE job = ? AND name IN ${dialect.list('?')}`,
  removeSteps: `DELETE FROM steps WHERE job IN ${dialect.list('?')}`,
  remove: `DELETE FROM jobs WHERE seq IN ${dialect.list('?')}`,
  writeCheckpointed: 'UPDATE jobs SET checkpointed_attempts = ? WHERE seq = ?',
  writeMachine: `INSERT INTO machines (job, ${machineColumns}) VALUES (?${machineParameters})
    ON CONFLICT (job) DO UPDATE SET ${replaced(machineColumns)}`,
  addName: 'INSERT INTO machine_names (kind, name, job) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  writeCheckpoint: `UPDATE machines SET ${assigned('number, checkpoint, takes_cancel, last_read, standing, deferred')} WHERE job = ?`,
  forgetName: 'DELETE FROM machine_names WHERE kind = ? AND name = ? AND job = ?',
  removeMachines: `DELETE FROM machines WHERE job IN ${dialect.list('?')}`,
  removeCheckpointsOf: `DELETE FROM checkpoints WHERE job IN ${dialect.list('?')}`,
  removeMessagesOf: `DELETE FROM messages WHERE job IN ${dialect.list('?')}`,
  addCheckpoint: 'INSERT INTO checkpoints (seq, job, number, at, note, state) VALUES (?, ?, ?, ?, ?, ?)',
  removeCheckpoints: 'DELETE FROM checkpoints WHERE job = ? AND number <= ?',
  addMessage: 'INSERT INTO messages (job, number, at, message) VALUES (?, ?, ?, ?)',
  removeMessages: 'DELETE FROM messages WHERE job = ? AND number <= ?',
  removeOtherMessages: `DELETE FROM messages WHERE job = ? AND number <= ? AND number NOT IN ${dialect.list('?')}`,
  addTags: `INSERT INTO job_tags (tag, job) SELECT value, ?1 FROM ${dialect.elements('?2')} WHERE TRUE ON CONFLICT DO NOTHING`,
  forgetTags: `DELETE FROM job_tags WHERE job = ?1 AND tag IN ${dialect.list('?2')}`,
})

/** @returns a text for each name */
export function rowTexts(dialect: Dialect): Readonly<Record<RowQuestion | RowText, string>> {
  const texts = { ...readingTexts(dialect), ...writingTexts(dialect) }
  for (const name of Object.keys(texts) as (keyof typeof texts)[]) texts[name] = dialect.statement(texts[name])
  return texts
}

type RowQuestion = keyof ReturnType<typeof readingTexts>
type RowText = keyof ReturnType<typeof writingTexts>

/** What `write-row.ts` asks for. How one name of a machine replaces another (`changeName`) is each database's own. */
export type RowStatement = RowText | 'changeName'
