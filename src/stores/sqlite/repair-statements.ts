/** The statements of a repair. */
import { statesTagged, type StateTag } from '../../core/lifecycle.ts'
import { bornTimed } from '../../core/insert.ts'
import { columns, type RowValues } from '../sql/columns.ts'
import { never } from '../sql/row.ts'
import type { QueueValues } from './columns.ts'
import { claimable } from './state-names.ts'

const states = (tag: StateTag): string => [...statesTagged(tag)].map((state) => `'${state}'`).join(', ')

/**
 * Columns that follow from the state of a job, as that demands. A job without its time is due now. `?` is the time of
 * the repair.
 */
export const columnsByState = [
  `UPDATE jobs SET finished_at = NULL WHERE finished_at IS NOT NULL AND state NOT IN (${states('ended')})`,
  `UPDATE jobs SET finished_at = ? WHERE finished_at IS NULL AND state IN (${states('ended')})`,
  `UPDATE jobs SET due_at = NULL WHERE due_at IS NOT NULL AND state NOT IN (${states('timed')})`,
  `UPDATE jobs SET due_at = ? WHERE due_at IS NULL AND state IN (${states('timed')})`,
  `UPDATE jobs SET lease_at = NULL, token = NULL WHERE lease_at IS NOT NULL AND state NOT IN (${states('leased')})`,
  `UPDATE jobs SET lease_at = ? WHERE lease_at IS NULL AND state IN (${states('leased')})`,
  'UPDATE jobs SET held_key = NULL WHERE held_key IS NOT NULL AND (finished_at IS NOT NULL OR held_key IS NOT key)',
  // Whoever waits for the end of a job that is gone.
  `UPDATE jobs SET due_at = due_after WHERE due_at = ${never} AND due_after IS NOT NULL AND state = '${bornTimed}'
    AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.queue = jobs.queue AND other.key = jobs.key AND other.key IS NOT NULL
      AND other.held_key IS NULL AND other.finished_at IS NULL)`,
] as const

/** What is written beside the rows of jobs, made anew from them. */
export const tablesByJobs = [
  'DELETE FROM job_tags',
  'INSERT OR IGNORE INTO job_tags (tag, job) SELECT value, seq FROM jobs CROSS JOIN json_each(tags) WHERE tags IS NOT NULL',
  'DELETE FROM machine_names',
  ...(['state', 'tag'] as const).map(
    (kind) => `INSERT OR IGNORE INTO machine_names (job, kind, name) SELECT seq, '${kind}', value
      FROM jobs CROSS JOIN machines ON job = seq CROSS JOIN json_each(standing, '$.${kind}s') WHERE standing IS NOT NULL`,
  ),
  `UPDATE failures SET dead = (SELECT count(*) FROM jobs WHERE failure = failures.fingerprint AND failure IS NOT NULL
    AND jobs.queue = failures.queue AND state = 'dead' AND finished_at >= failures.first_at)`,
  'UPDATE failures SET count = dead WHERE count < dead',
  `INSERT INTO minutes SELECT minute, min(number) FROM (
    SELECT enqueued_at / 60000 AS minute, seq AS number FROM jobs
    UNION ALL SELECT finished_at / 60000, last_seq FROM jobs WHERE finished_at IS NOT NULL)
    WHERE minute >= (SELECT coalesce(min(minute), 0) FROM minutes) GROUP BY minute
    ON CONFLICT (minute) DO UPDATE SET first = min(first, excluded.first)`,
  'INSERT OR REPLACE INTO looks (queue, at) SELECT queue, 0 FROM queues',
] as const

export const repairTexts = {
  jobsAfter: `SELECT ${columns} FROM jobs WHERE seq > ? ORDER BY seq LIMIT +?`,
  rowsAside: `SELECT ${columns} FROM set_aside ORDER BY seq`,
  giveUpTakenKey: `UPDATE set_aside SET held_key = NULL WHERE seq = ? AND held_key IS NOT NULL
    AND EXISTS (SELECT 1 FROM jobs WHERE jobs.queue = set_aside.queue AND jobs.held_key = set_aside.held_key)`,
  bringBack: 'INSERT INTO jobs SELECT * FROM set_aside WHERE seq = ?',
  storedQueues: 'SELECT queue, counts, key_terms, activity, machines FROM queues ORDER BY queue',
  jobsByState: 'SELECT queue, state, count(*) FROM jobs NOT INDEXED GROUP BY queue, state',
  jobsByName: `SELECT queue, kind, name, count(*) FROM machine_names CROSS JOIN jobs ON seq = job
    WHERE finished_at IS NULL GROUP BY queue, kind, name`,
  repairQueue: 'UPDATE queues SET counts = ?, key_terms = ?, activity = ?, machines = ? WHERE queue = ?',
  findKeyed:
    'UPDATE queues SET keyed = 1 WHERE queue IN (SELECT DISTINCT queue FROM jobs WHERE concurrency_key IS NOT NULL)',
  keyGroupNames: 'SELECT queue, concurrency_key FROM key_groups',
  jobsByKey: `SELECT queue, concurrency_key, sum(state IN (${states('leased')})) FROM jobs WHERE concurrency_key IS NOT NULL
    AND state IN ('${claimable}', ${states('leased')}) GROUP BY queue, concurrency_key`,
  highestNumber: `SELECT max(number) FROM (SELECT max(seq) AS number FROM jobs UNION ALL SELECT max(last_seq) FROM jobs
    UNION ALL SELECT max(seq) FROM checkpoints UNION ALL SELECT max(seq) FROM set_aside UNION ALL SELECT max(last_seq) FROM set_aside)`,
} as const

export interface RepairRowOf {
  jobsAfter: RowValues
  rowsAside: RowValues
  storedQueues: [queue: QueueValues[0], counts: string, keyTerms: string | null, activity: string, machines: string]
  jobsByState: [queue: number, state: string, jobs: number]
  jobsByName: [queue: number, kind: 'state' | 'tag', name: string, jobs: number]
  keyGroupNames: [queue: number, concurrencyKey: string]
  jobsByKey: [queue: number, concurrencyKey: string, leasedCount: number]
  highestNumber: [number: number | null]
}
