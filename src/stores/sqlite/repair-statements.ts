/** The statements of a repair. */
import { statesTagged, type StateTag } from '../../core/lifecycle.ts'
import { bornTimed } from '../../core/insert.ts'
import { columns, isIndexedMember, never, noKey, rowTables, type QueueValues, type RowValues } from './columns.ts'
import { claimable, claimed } from './state-names.ts'

const states = (tag: StateTag): string => [...statesTagged(tag)].map((state) => `'${state}'`).join(', ')

/** Jobs that open claims have. */
const claimedJobs = `SELECT each.value FROM claims CROSS JOIN json_each(claims.jobs) AS each WHERE each.value > 0`
const written = `coalesce(lives.state, '${claimable}')`
const stateNow = `CASE WHEN ${written} = '${claimable}' AND jobs.seq IN (${claimedJobs}) THEN '${claimed}' ELSE ${written} END`
const queuedJobs = `SELECT jobs.queue, coalesce(concurrency_key, '${noKey}'), -priority, coalesce(place, seq), seq FROM ${rowTables}
  WHERE ${written} = '${claimable}' AND jobs.seq NOT IN (${claimedJobs})`
const endedJobs = 'SELECT jobs.queue, state, job FROM lives CROSS JOIN jobs ON seq = job WHERE finished_at IS NOT NULL'
const jobsOfEnds =
  'SELECT queue, state, value FROM ended CROSS JOIN json_each(iif(json_valid(jobs), jobs, NULL)) WHERE value > 0'

/**
 * What follows from the state of a job, as that demands. A job without its time is due now. `?` is the time of the
 * repair.
 */
export const columnsByState = [
  'DELETE FROM lives WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE seq = job)',
  `UPDATE lives SET finished_at = NULL WHERE finished_at IS NOT NULL AND state NOT IN (${states('ended')})`,
  `UPDATE lives SET finished_at = ? WHERE finished_at IS NULL AND state IN (${states('ended')})`,
  `UPDATE lives SET due_at = NULL WHERE due_at IS NOT NULL AND state NOT IN (${states('timed')})`,
  `UPDATE lives SET due_at = ? WHERE due_at IS NULL AND state IN (${states('timed')})`,
  `UPDATE lives SET token = NULL WHERE token IS NOT NULL AND state NOT IN (${states('leased')}) AND finished_at IS NULL`,
  `INSERT INTO claims (first, token, worker, at, lease_at, jobs)
    SELECT last_seq, coalesce(token, ''), coalesce(worker, ''), coalesce(started_at, 0), ?, json_array(job) FROM lives
    WHERE state IN (${states('leased')}) AND job NOT IN (${claimedJobs})`,
  `UPDATE lives SET held_key = NULL
    WHERE held_key IS NOT NULL AND (finished_at IS NOT NULL OR held_key IS NOT (SELECT key FROM jobs WHERE seq = job))`,
  `UPDATE lives SET left_key = (SELECT key FROM jobs WHERE seq = job)
    WHERE left_key IS NULL AND held_key IS NULL AND finished_at IS NULL AND (SELECT key FROM jobs WHERE seq = job) IS NOT NULL`,
  `UPDATE lives SET left_key = NULL WHERE left_key IS NOT NULL AND (held_key IS NOT NULL OR finished_at IS NOT NULL)`,
  // Whoever waits for the end of a job that is gone.
  `UPDATE lives SET due_at = due_after WHERE due_at = ${never} AND due_after IS NOT NULL AND state = '${bornTimed}'
    AND NOT EXISTS (SELECT 1 FROM lives AS other WHERE other.queue = lives.queue AND other.left_key = lives.held_key)`,
] as const

/** What is written beside the rows of jobs, made anew from them: in the order of its key, which takes half the time. */
export const tablesByJobs = [
  'UPDATE queues SET front_rank = NULL, front_place = NULL WHERE front_place IS NOT NULL',
  'DELETE FROM waiting',
  `INSERT OR REPLACE INTO waiting (queue, concurrency_key, rank, place, job) ${queuedJobs} ORDER BY 1, 2, 3, 4`,
  'DELETE FROM listed',
  `INSERT INTO listed (queue, state, job) ${endedJobs}`,
  `INSERT INTO listed (queue, state, job) SELECT queue, '${claimable}', job FROM waiting
    WHERE concurrency_key <> '${noKey}' OR place <> job`,
  'DELETE FROM job_tags',
  'INSERT OR IGNORE INTO job_tags (tag, job) SELECT value, seq FROM jobs CROSS JOIN json_each(tags) WHERE tags IS NOT NULL ORDER BY 1, 2',
  'DELETE FROM job_meta',
  `INSERT OR IGNORE INTO job_meta (value, name, type, job) SELECT CAST(member.atom AS TEXT), member.key, member.type, seq
    FROM jobs CROSS JOIN json_each(meta) AS member WHERE meta IS NOT NULL AND ${isIndexedMember} ORDER BY 1, 2, 3, 4`,
  'DELETE FROM machine_names',
  ...(['state', 'tag'] as const).map(
    (kind) => `INSERT OR IGNORE INTO machine_names (job, kind, name) SELECT seq, '${kind}', value
      FROM jobs CROSS JOIN machines ON job = seq CROSS JOIN json_each(standing, '$.${kind}s') WHERE standing IS NOT NULL`,
  ),
  `UPDATE failures SET dead = (SELECT count(*) FROM lives WHERE failure = failures.fingerprint AND failure IS NOT NULL
    AND lives.queue = failures.queue AND state = 'dead' AND finished_at >= failures.first_at)`,
  'UPDATE failures SET count = dead WHERE count < dead',
  `INSERT INTO minutes SELECT minute, min(number) FROM (
    SELECT enqueued_at / 60000 AS minute, seq AS number FROM jobs
    UNION ALL SELECT finished_at / 60000, last_seq FROM lives WHERE finished_at IS NOT NULL)
    WHERE minute >= (SELECT coalesce(min(minute), 0) FROM minutes) GROUP BY minute
    ON CONFLICT (minute) DO UPDATE SET first = min(first, excluded.first)`,
  'INSERT OR REPLACE INTO looks (queue, at) SELECT queue, 0 FROM queues',
] as const

/** They are written anew, a row for each, if those that are there are others. */
export const endsByJobs = [
  'DELETE FROM ended',
  `INSERT INTO ended (queue, state, last, jobs) SELECT jobs.queue, state, last_seq, json_array(-finished_at, job)
    FROM lives CROSS JOIN jobs ON seq = job WHERE finished_at IS NOT NULL`,
] as const

export const repairTexts = {
  jobsAfter: `SELECT ${columns} FROM ${rowTables} WHERE seq > ? ORDER BY seq LIMIT +?`,
  rowsAside: `SELECT ${columns} FROM jobs_aside AS jobs LEFT JOIN lives_aside AS lives ON lives.job = jobs.seq ORDER BY seq`,
  giveUpTakenKey: `UPDATE lives_aside SET held_key = NULL WHERE job = ? AND held_key IS NOT NULL
    AND EXISTS (SELECT 1 FROM lives WHERE lives.queue = lives_aside.queue AND lives.held_key = lives_aside.held_key)`,
  bringJobBack: 'INSERT INTO jobs SELECT * FROM jobs_aside WHERE seq = ?',
  bringLifeBack: 'INSERT OR REPLACE INTO lives SELECT * FROM lives_aside WHERE job = ?',
  forgetEnds: 'DELETE FROM ends WHERE NOT json_valid(jobs) OR NOT json_valid(groups)',
  claimsToRepair: `SELECT claim, iif(json_valid(jobs), jobs, '[]') FROM claims`,
  // Those of them that have a lease.
  stillClaimed: `SELECT seq FROM ${rowTables} WHERE seq IN (SELECT value FROM json_each(?))
    AND ${written} IN ('${claimable}', ${states('leased')})`,
  writeJobsOfClaim: 'UPDATE claims SET jobs = ? WHERE claim = ?',
  wrongEnds: `SELECT 1 FROM (SELECT * FROM (${jobsOfEnds} EXCEPT ${endedJobs}) UNION ALL SELECT * FROM (${endedJobs} EXCEPT ${jobsOfEnds})
    UNION ALL SELECT queue, state, last FROM ended WHERE NOT json_valid(jobs)) LIMIT 1`,
  storedQueues: 'SELECT queue, counts, key_terms, activity, machines FROM queues ORDER BY queue',
  jobsByState: `SELECT jobs.queue, ${stateNow} AS now, count(*) FROM ${rowTables} GROUP BY jobs.queue, now`,
  jobsByName: `SELECT jobs.queue, kind, name, count(*)
    FROM machine_names CROSS JOIN jobs ON seq = machine_names.job LEFT JOIN lives ON lives.job = seq
    WHERE finished_at IS NULL GROUP BY jobs.queue, kind, name`,
  repairQueue: 'UPDATE queues SET counts = ?, key_terms = ?, activity = ?, machines = ? WHERE queue = ?',
  findKeyed:
    'UPDATE queues SET keyed = 1 WHERE queue IN (SELECT DISTINCT queue FROM jobs WHERE concurrency_key IS NOT NULL)',
  keyGroupNames: 'SELECT queue, concurrency_key FROM key_groups',
  jobsByKey: `SELECT queue, concurrency_key, sum(now IN (${states('leased')}))
    FROM (SELECT jobs.queue, concurrency_key, ${stateNow} AS now FROM ${rowTables} WHERE concurrency_key IS NOT NULL)
    WHERE now IN ('${claimable}', ${states('leased')}) GROUP BY queue, concurrency_key`,
  highestNumber: `SELECT max(number) FROM (SELECT max(seq) AS number FROM jobs UNION ALL SELECT max(last_seq) FROM lives
    UNION ALL SELECT max(first + json_array_length(jobs) - 1) FROM claims UNION ALL SELECT max(seq) FROM checkpoints
    UNION ALL SELECT max(seq) FROM jobs_aside UNION ALL SELECT max(last_seq) FROM lives_aside)`,
} as const

export interface RepairRowOf {
  jobsAfter: RowValues
  rowsAside: RowValues
  claimsToRepair: [claim: number, jobs: string]
  stillClaimed: [job: number]
  wrongEnds: [1]
  storedQueues: [queue: QueueValues[0], counts: string, keyTerms: string | null, activity: string, machines: string]
  jobsByState: [queue: number, state: string, jobs: number]
  jobsByName: [queue: number, kind: 'state' | 'tag', name: string, jobs: number]
  keyGroupNames: [queue: number, concurrencyKey: string]
  jobsByKey: [queue: number, concurrencyKey: string, leasedCount: number]
  highestNumber: [number | null]
}
