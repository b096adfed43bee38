/**
 * Statements about rows of jobs, and what is kept beside them, as the tables of every database with SQL have it. The
 * parameters of those that write are made by `write-row.ts`.
 */
import { columns, machineColumns, rowTables } from './columns.ts'
import type { Dialect } from './dialect.ts'
import { never } from './row.ts'

const lifeColumns =
  'job, queue, state, history, last_seq, token, worker, started_at, finished_at, output, place, attempt, generation, ' +
  'due_at, held_key, left_key, due_after, error, errors, checkin, logs, cancel, settled, checkpointed_attempts, failure'
/** What transitions change of a live job that has a row, no key and nothing rare. */
const movedColumns =
  'state, history, last_seq, token, worker, started_at, finished_at, output, place, attempt, generation, due_at, ' +
  'settled, checkpointed_attempts'
const machineParameters = ', ?'.repeat(machineColumns.split(',').length)
const assigned = (list: string): string => list.replaceAll(/\w+/g, (name) => `${name} = ?`)
const replaced = (list: string): string => list.replaceAll(/\w+/g, (name) => `${name} = excluded.${name}`)

const readingTexts = (dialect: Dialect) => ({
  existing: `SELECT id, queue FROM jobs WHERE id IN ${dialect.list('?')}`,
  byId: `SELECT ${columns} FROM ${rowTables} WHERE jobs.id = ?`,
  bySeq: `SELECT ${columns} FROM ${rowTables} WHERE jobs.seq = ?`,
  holder: `SELECT ${columns} FROM ${dialect.join(dialect.table('lives', 'holders'), 'jobs', 'jobs.seq = lives.job')}
    WHERE lives.queue = ? AND held_key = ? AND held_key IS NOT NULL`,
  anyPredecessor: `SELECT 1 FROM ${dialect.table('lives', 'leaving')} WHERE left_key IS NOT NULL LIMIT 1`,
  predecessor: `SELECT 1 FROM ${dialect.table('lives', 'leaving')} WHERE queue = ? AND left_key = ? AND left_key IS NOT NULL LIMIT 1`,
  stepsOf: 'SELECT name, result FROM steps WHERE job = ? ORDER BY step',
  due: `SELECT ${columns} FROM ${dialect.join(dialect.table('lives', 'due'), 'jobs', 'jobs.seq = lives.job')}
    WHERE due_at <= ? ORDER BY due_at, lives.job ${dialect.limit('?')}`,
  nextDue: `SELECT due_at FROM ${dialect.table('lives', 'due')} WHERE due_at < ${never} ORDER BY due_at LIMIT 1`,
  machine: `SELECT ${machineColumns} FROM machines WHERE job = ?`,
  checkpointAt: 'SELECT state, at FROM checkpoints WHERE seq = ?',
  checkpointsOf: 'SELECT number, state, seq, at, note FROM checkpoints WHERE job = ? ORDER BY number',
  messagesAfter: 'SELECT number, at, message FROM messages WHERE job = ? AND number > ? ORDER BY number',
  anyChild: `SELECT 1 FROM ${dialect.table('machines', 'children')} WHERE parent IS NOT NULL LIMIT 1`,
  childrenOf: `SELECT id FROM ${dialect.join(dialect.table('machines', 'children'), 'jobs', 'seq = job')}
    WHERE parent = ? AND NOT EXISTS (SELECT 1 FROM lives WHERE lives.job = seq AND finished_at IS NOT NULL)
    ORDER BY priority DESC, seq`,
})

const writingTexts = (dialect: Dialect) => ({
  addPlain: `INSERT INTO jobs (seq, id, queue, priority, max_attempts, enqueued_at, input) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO NOTHING`,
  add: `INSERT INTO jobs (seq, id, queue, priority, max_attempts, enqueued_at, input, key, concurrency_key, tags, meta, options)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  writeJob: `UPDATE jobs SET ${assigned('max_attempts, input, tags, meta, options')} WHERE seq = ?`,
  writePlainEnd: `INSERT INTO lives (job, state, claimed_seq, last_seq, token, worker, started_at, finished_at, output)
    VALUES (?1, 'done', ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
  writeLife: `INSERT INTO lives (${lifeColumns}) VALUES (?${', ?'.repeat(lifeColumns.split(',').length - 1)})
    ON CONFLICT (job) DO UPDATE SET ${replaced(lifeColumns)}, claimed_seq = NULL`,
  writeMove: `UPDATE lives SET ${assigned(movedColumns)} WHERE job = ?`,
  saveStep: `INSERT INTO steps (job, name, result) VALUES (?, ?, ?)
    ON CONFLICT (job, name) DO UPDATE SET result = excluded.result`,
  forgetSteps: 'DELETE FROM steps WHERE job = ?',
  forgetNamedSteps: `DELETE FROM steps WHERE job = ? AND name IN ${dialect.list('?')}`,
  removeSteps: `DELETE FROM steps WHERE job IN ${dialect.list('?')}`,
  removeJobs: `DELETE FROM jobs WHERE seq IN ${dialect.list('?')}`,
  removeLives: `DELETE FROM lives WHERE job IN ${dialect.list('?')}`,
  writeCheckpointed: 'UPDATE lives SET checkpointed_attempts = ? WHERE job = ?',
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

/**
 * What `write-row.ts` asks for. How one name of a machine replaces another (`changeName`), and how the members of an
 * object become rows (`addMeta`, `forgetMeta`), is each database's own.
 */
export type RowStatement = RowText | 'changeName' | 'addMeta' | 'forgetMeta'
