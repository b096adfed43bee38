/** Every statement of the store, prepared when it is first used. */
import type { JobState } from '../../core/lifecycle.ts'
import {
  columns,
  columnsFor,
  enqueueColumns,
  isIndexedMember,
  machineColumns,
  never,
  rowTables,
  type ActivityValues,
  type FailureValues,
  type MachineValues,
  type PackedInboxEntry,
  type PackedStep,
  type QueueValues,
  type RowValues,
} from './columns.ts'
import type { Driver, SqlValue, StatementListener } from './driver.ts'
import { repairTexts, type RepairRowOf } from './repair-statements.ts'

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
const queueColumns =
  'queue, type, paused, keyed, counts, clock, key_rate, key_terms, minute, activity, machines, front_rank, front_place'
const figureColumns = ['enqueued', 'started', 'done', 'failed', 'dead', 'cancelled', 'wait_ms', 'run_ms']
const failureColumns = 'queue, fingerprint, name, code, message, count, dead, first_at, last_at, last_id'

/**
 * The ends of so many jobs of one claim: what they share, and then three numbers of each. Only what is bound once for
 * all has a number here: the driver looks through the numbers for each value that it binds.
 */
const plainEnds = (jobs: number): string =>
  `INSERT INTO lives (token, worker, started_at, finished_at, job, claimed_seq, last_seq, state) VALUES ${Array.from(
    { length: jobs },
    () => "(?1, ?2, ?3, ?4, ?, ?, ?, 'done')",
  ).join(', ')}`

/** The first schedules that are due, in their order. */
const dueTicks = (which: string): string =>
  `SELECT name, due_at, record FROM schedules INDEXED BY ticks WHERE ${which} AND due_at <= ?1 ORDER BY due_at, name LIMIT +?3`

/** How many claims there were after a time: all to the last one, but those before the first one after it. */
const claimsSince = (table: string, own: string, time: string): string =>
  `SELECT (SELECT total FROM ${table} WHERE ${own} ORDER BY at DESC LIMIT 1) -
    (SELECT total - claims FROM ${table} WHERE ${own} AND at > ${time} ORDER BY at LIMIT 1)`

/** Removes what jobs of a table are found by beside their rows: their meta may be broken. */
const forgetMetaOf = (table: string): string =>
  `DELETE FROM job_meta WHERE (value, name, type, job) IN (SELECT CAST(member.atom AS TEXT), member.key, member.type, ${table}.seq
    FROM ${table} CROSS JOIN json_each(iif(json_valid(${table}.meta), ${table}.meta, NULL)) AS member
    WHERE ${table}.seq IN (SELECT value FROM json_each(?)) AND ${isIndexedMember})`

// The planner keeps an index that a text names, and its order of a CROSS JOIN. Lists are JSON, so that one statement
// serves any number of values. Not `LIMIT ?`: the planner peeks at a plain parameter, and prepares the statement again
// for every value.
const texts = {
  existing: 'SELECT id, queue FROM jobs WHERE id IN (SELECT value FROM json_each(?))',
  byId: `SELECT ${columns} FROM ${rowTables} WHERE jobs.id = ?`,
  bySeq: `SELECT ${columns} FROM ${rowTables} WHERE jobs.seq = ?`,
  holder: `SELECT ${columns} FROM lives INDEXED BY holders CROSS JOIN jobs ON jobs.seq = lives.job
    WHERE lives.queue = ? AND held_key = ? AND held_key IS NOT NULL`,
  anyPredecessor: 'SELECT 1 FROM lives INDEXED BY leaving WHERE left_key IS NOT NULL LIMIT 1',
  predecessor:
    'SELECT 1 FROM lives INDEXED BY leaving WHERE queue = ? AND left_key = ? AND left_key IS NOT NULL LIMIT 1',
  stepsOf: 'SELECT name, result FROM steps WHERE job = ? ORDER BY step',
  due: `SELECT ${columns} FROM lives INDEXED BY due CROSS JOIN jobs ON jobs.seq = lives.job
    WHERE due_at <= ? ORDER BY due_at, lives.job LIMIT +?`,
  nextDue: `SELECT due_at FROM lives INDEXED BY due WHERE due_at < ${never} ORDER BY due_at LIMIT 1`,
  machine: `SELECT ${machineColumns} FROM machines WHERE job = ?`,
  checkpointAt: 'SELECT state, at FROM checkpoints WHERE seq = ?',
  checkpointsOf: 'SELECT number, state, seq, at, note FROM checkpoints WHERE job = ? ORDER BY number',
  messagesAfter: 'SELECT number, at, message FROM messages WHERE job = ? AND number > ? ORDER BY number',
  anyChild: 'SELECT 1 FROM machines INDEXED BY children WHERE parent IS NOT NULL LIMIT 1',
  childrenOf: `SELECT id FROM machines INDEXED BY children CROSS JOIN jobs ON seq = job
    WHERE parent = ? AND NOT EXISTS (SELECT 1 FROM lives WHERE lives.job = seq AND finished_at IS NOT NULL)
    ORDER BY priority DESC, seq`,

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
  forgetNamedSteps: 'DELETE FROM steps WHERE job = ? AND name IN (SELECT value FROM json_each(?))',
  removeSteps: 'DELETE FROM steps WHERE job IN (SELECT value FROM json_each(?))',
  removeJobs: 'DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))',
  removeLives: 'DELETE FROM lives WHERE job IN (SELECT value FROM json_each(?))',
  writeCheckpointed: 'UPDATE lives SET checkpointed_attempts = ? WHERE job = ?',
  writeMachine: `INSERT INTO machines (job, ${machineColumns}) VALUES (?${machineParameters})
    ON CONFLICT (job) DO UPDATE SET ${replaced(machineColumns)}`,
  addName: 'INSERT INTO machine_names (kind, name, job) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  writeCheckpoint: `UPDATE machines SET ${assigned('number, checkpoint, takes_cancel, last_read, standing, deferred')} WHERE job = ?`,
  forgetName: 'DELETE FROM machine_names WHERE kind = ? AND name = ? AND job = ?',
  removeMachines: 'DELETE FROM machines WHERE job IN (SELECT value FROM json_each(?))',
  removeCheckpointsOf: 'DELETE FROM checkpoints WHERE job IN (SELECT value FROM json_each(?))',
  removeMessagesOf: 'DELETE FROM messages WHERE job IN (SELECT value FROM json_each(?))',
  addCheckpoint: 'INSERT INTO checkpoints (seq, job, number, at, note, state) VALUES (?, ?, ?, ?, ?, ?)',
  removeCheckpoints: 'DELETE FROM checkpoints WHERE job = ? AND number <= ?',
  addMessage: 'INSERT INTO messages (job, number, at, message) VALUES (?, ?, ?, ?)',
  removeMessages: 'DELETE FROM messages WHERE job = ? AND number <= ?',
  removeOtherMessages:
    'DELETE FROM messages WHERE job = ? AND number <= ? AND number NOT IN (SELECT value FROM json_each(?))',
  addTags: 'INSERT INTO job_tags (tag, job) SELECT value, ?1 FROM json_each(?2) WHERE TRUE ON CONFLICT DO NOTHING',
  forgetTags: 'DELETE FROM job_tags WHERE job = ?1 AND tag IN (SELECT value FROM json_each(?2))',
  writePlainEnds16: plainEnds(16),
  writePlainEnds4: plainEnds(4),
  changeName: 'UPDATE OR REPLACE machine_names SET name = ? WHERE kind = ? AND name = ? AND job = ?',
  removeNames: `DELETE FROM machine_names WHERE kind = ? AND (name, job) IN (SELECT each.value, job
    FROM machines CROSS JOIN json_each(iif(json_valid(standing), standing, NULL), ?) AS each WHERE job IN (SELECT value FROM json_each(?)))`,
  addMeta: `INSERT INTO job_meta (value, name, type, job) SELECT CAST(atom AS TEXT), key, type, ?1 FROM json_each(?2) AS member
    WHERE ${isIndexedMember} ON CONFLICT DO NOTHING`,
  forgetMeta: `DELETE FROM job_meta WHERE job = ?1 AND (value, name, type) IN
    (SELECT CAST(atom AS TEXT), key, type FROM json_each(?2) AS member WHERE ${isIndexedMember})`,
  removeMeta: forgetMetaOf('jobs'),
  removeMetaAside: forgetMetaOf('jobs_aside'),
  begin: 'BEGIN IMMEDIATE',
  beginReading: 'BEGIN',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  savepoint: 'SAVEPOINT request',
  releaseSavepoint: 'RELEASE request',
  rollBackToSavepoint: 'ROLLBACK TO request',
  version: 'PRAGMA data_version',
  fileVersion: 'PRAGMA user_version',

  lastSeq: 'SELECT max(last) FROM log',
  queueOf: `SELECT ${queueColumns} FROM queues WHERE type = ?`,
  queueAt: `SELECT ${queueColumns} FROM queues WHERE queue = ?`,
  queues: `SELECT ${queueColumns} FROM queues ORDER BY queue`,
  addQueue: 'INSERT INTO queues (type) VALUES (?) RETURNING queue',
  writeQueue:
    'UPDATE queues SET paused = ?, keyed = ?, counts = ?, clock = ?, key_rate = ?, key_terms = ?, minute = ?, activity = ?, machines = ?, front_rank = ?, front_place = ? WHERE queue = ?',

  addActivity: `INSERT INTO activity (queue, period, at, ${figureColumns.join(', ')})
    VALUES (?, ?, ?, ${figureColumns.map(() => '?').join(', ')})
    ON CONFLICT DO UPDATE SET ${figureColumns.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  forgetActivity: 'DELETE FROM activity WHERE queue = ? AND period = ? AND at < ?',
  activityOf: `SELECT at, ${figureColumns.join(', ')} FROM activity WHERE queue = ? AND period = ? AND at >= ?`,

  addHeat: `INSERT INTO heat (queue, at, name, count, last_id) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count, last_id = excluded.last_id`,
  // What is older than a day is added up in the first hour of its day.
  addHeatUp: `INSERT INTO heat (queue, at, name, count, last_id)
    SELECT queue, at - at % 86400000, name, count, last_id FROM heat INDEXED BY hours_of_heat
    WHERE at < ? AND at % 86400000 <> 0 ORDER BY at
    ON CONFLICT DO UPDATE SET count = count + excluded.count, last_id = excluded.last_id`,
  forgetHours: 'DELETE FROM heat INDEXED BY hours_of_heat WHERE at < ? AND at % 86400000 <> 0',
  forgetDays: 'DELETE FROM heat INDEXED BY days_of_heat WHERE at < ? AND at % 86400000 = 0',
  // With max(), SQLite takes the other columns from the row that has it.
  heatOf: `SELECT name, sum(count), last_id, max(at) FROM heat WHERE queue = ? AND at >= ? GROUP BY name`,

  addFailure: `INSERT INTO failures (${failureColumns}, last_seq) VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, ?6, ?6, ?7, ?8)
    ON CONFLICT DO UPDATE SET count = count + 1, last_at = excluded.last_at, last_id = excluded.last_id,
    last_seq = excluded.last_seq RETURNING count`,
  forgetFailures: `DELETE FROM failures WHERE queue = ?1 AND last_seq <=
    (SELECT last_seq FROM failures WHERE queue = ?1 ORDER BY last_seq DESC LIMIT 1 OFFSET +?2)`,
  countDead: `UPDATE failures SET dead = max(0, dead + ?) WHERE queue = ? AND fingerprint = ? AND first_at <= ?`,
  failures: `SELECT ${failureColumns} FROM failures INDEXED BY latest_failures ORDER BY last_seq DESC LIMIT +?`,
  failuresOf: `SELECT ${failureColumns} FROM failures WHERE queue = ? ORDER BY last_seq DESC LIMIT +?`,
  writeFailure: 'UPDATE lives SET failure = ? WHERE job = ?',

  jobAside: 'INSERT OR REPLACE INTO jobs_aside SELECT * FROM jobs WHERE seq = ?',
  lifeAside: 'INSERT OR REPLACE INTO lives_aside SELECT * FROM lives WHERE job = ?',
  unreadable: 'SELECT DISTINCT id FROM jobs_aside ORDER BY id',
  aside: 'SELECT seq, id, tags FROM jobs_aside WHERE id IN (SELECT value FROM json_each(?))',
  removeJobsAside: 'DELETE FROM jobs_aside WHERE seq IN (SELECT value FROM json_each(?))',
  removeLivesAside: 'DELETE FROM lives_aside WHERE job IN (SELECT value FROM json_each(?))',

  ready: `SELECT ${enqueueColumns} FROM waiting CROSS JOIN jobs ON seq = waiting.job LEFT JOIN lives ON lives.job = seq
    WHERE waiting.queue = ? AND waiting.concurrency_key = ? AND (rank, waiting.place) > (?, ?) ORDER BY rank, waiting.place LIMIT +?`,
  bySeqs: `SELECT ${columns} FROM json_each(?) AS wanted CROSS JOIN jobs ON jobs.seq = wanted.value LEFT JOIN lives ON lives.job = jobs.seq`,
  machinesOf: `SELECT machines.job, checkpoints.state, checkpoints.at, ${machineColumns.replaceAll(/\w+/g, 'machines.$&')}
    FROM json_each(?) AS wanted CROSS JOIN machines ON machines.job = wanted.value LEFT JOIN checkpoints ON checkpoints.seq = machines.checkpoint`,
  stepsOfEach: 'SELECT job, name, result FROM steps WHERE job IN (SELECT value FROM json_each(?)) ORDER BY job, step',
  addWaiting: 'INSERT INTO waiting (queue, concurrency_key, rank, place, job) VALUES (?, ?, ?, ?, ?)',
  addOneWaiting: `INSERT INTO waiting (queue, concurrency_key, rank, place, job)
    SELECT queue, '', -priority, seq, seq FROM jobs WHERE seq = ?`,
  addWaitingRange: `INSERT INTO waiting (queue, concurrency_key, rank, place, job)
    SELECT queue, '', -priority, seq, seq FROM jobs WHERE seq BETWEEN ? AND ?`,
  // An index in a list begins with 0.
  addReturned: `INSERT INTO waiting (queue, concurrency_key, rank, place, job)
    SELECT ?1, ?2, ?3, ?4 + key, value FROM json_each(?5)`,
  removeWaiting: 'DELETE FROM waiting WHERE queue = ? AND concurrency_key = ? AND rank = ? AND place = ?',
  countTaken: `SELECT count(*) FROM (SELECT 1 FROM waiting
    WHERE queue = ? AND concurrency_key = ? AND (rank, place) <= (?, ?) LIMIT +?)`,
  takeWaiting: 'DELETE FROM waiting WHERE queue = ? AND concurrency_key = ? AND (rank, place) <= (?, ?)',

  claims: 'SELECT claim, first, token, worker, at, lease_at, jobs FROM claims',
  freeClaim: 'SELECT min(0, min(claim)) - 1 FROM claims',
  addClaim: 'INSERT INTO claims (claim, first, token, worker, at, lease_at, jobs) VALUES (?, ?, ?, ?, ?, ?, ?)',
  writeClaim: 'UPDATE claims SET lease_at = ?, jobs = ? WHERE claim = ?',
  removeClaim: 'DELETE FROM claims WHERE claim = ?',
  checkinOf: `SELECT ${columnsFor(['checkin'])} FROM ${rowTables} WHERE seq = ?`,

  ends: 'SELECT last, at, jobs, groups FROM ends ORDER BY last',
  addEnds: 'INSERT INTO ends (last, at, jobs, groups) VALUES (?, ?, ?, ?)',
  behind: 'SELECT coalesce(sum(json_array_length(jobs)), 0) FROM ends',
  removeEnds: 'DELETE FROM ends',
  endedOf: 'SELECT last, jobs FROM ended WHERE queue = ? AND state = ? AND last >= ? ORDER BY last LIMIT 1',
  endedWith:
    'SELECT queue, state, last, jobs FROM ended WHERE EXISTS (SELECT 1 FROM json_each(ended.jobs) WHERE value = ?)',
  addEnded: 'INSERT INTO ended (queue, state, last, jobs) VALUES (?, ?, ?, ?)',
  writeEnded: 'UPDATE ended SET jobs = ? WHERE queue = ? AND state = ? AND last = ?',
  removeEnded: 'DELETE FROM ended WHERE queue = ? AND state = ? AND last = ?',
  forgetWaiting: 'DELETE FROM waiting WHERE job = ?',
  forgetListed: 'DELETE FROM listed WHERE job = ?',
  listJobs: 'INSERT OR IGNORE INTO listed (queue, state, job) SELECT ?, ?, value FROM json_each(?)',
  unlist: 'DELETE FROM listed WHERE queue = ? AND state = ? AND job IN (SELECT value FROM json_each(?))',

  keyGroup: 'SELECT leased, priority, place, start, finish FROM key_groups WHERE queue = ? AND concurrency_key = ?',
  keyGroups: 'SELECT concurrency_key, leased FROM key_groups WHERE queue = ?',
  writeKeyGroup: `INSERT INTO key_groups (queue, concurrency_key, leased, priority, place) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET leased = excluded.leased, priority = excluded.priority, place = excluded.place`,
  writeSharingKeyGroup: `INSERT INTO key_groups (queue, concurrency_key, leased, priority, place, start, finish) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET leased = excluded.leased, priority = excluded.priority, place = excluded.place,
    start = excluded.start, finish = excluded.finish`,
  startKeyGroup: 'UPDATE key_groups SET start = ? WHERE queue = ? AND concurrency_key = ?',
  removeKeyGroup: 'DELETE FROM key_groups WHERE queue = ? AND concurrency_key = ?',
  nextLeasedCount:
    'SELECT min(leased) FROM key_groups WHERE queue = ? AND leased >= ? AND place IS NOT NULL AND limited_until IS NULL',
  firstKeyGroup: `SELECT concurrency_key, priority, place FROM key_groups INDEXED BY open_key_groups
    WHERE queue = ? AND leased = ? AND place IS NOT NULL AND limited_until IS NULL ORDER BY priority DESC, place LIMIT 1`,
  firstLimitedKeyGroup: `SELECT concurrency_key, priority, place FROM key_groups INDEXED BY limited_key_groups
    WHERE queue = ? AND limited_until IS NOT NULL AND place IS NOT NULL ORDER BY priority DESC, place LIMIT 1`,
  firstShare: `SELECT concurrency_key, priority, place, finish FROM key_groups INDEXED BY sharing_key_groups
    WHERE queue = ? AND leased = ? AND finish IS NOT NULL AND limited_until IS NULL ORDER BY finish, priority DESC, place LIMIT 1`,
  headOfKeyGroup: `SELECT -rank, place FROM waiting WHERE queue = ? AND concurrency_key = ? ORDER BY rank, place LIMIT 1`,
  headOfShare: `SELECT -rank, place, options FROM waiting CROSS JOIN jobs ON seq = job
    WHERE waiting.queue = ? AND waiting.concurrency_key = ? ORDER BY rank, place LIMIT 1`,
  headOfQueue: `SELECT lives.job, enqueued_at FROM waiting CROSS JOIN jobs ON seq = waiting.job LEFT JOIN lives ON lives.job = seq
    WHERE waiting.queue = ? AND waiting.concurrency_key = '' AND (rank, waiting.place) > (?, ?) ORDER BY rank, waiting.place LIMIT 1`,

  claimsSince: claimsSince('rates', 'queue = ?1', '?2'),
  lastClaims: 'SELECT at, total FROM rates WHERE queue = ? ORDER BY at DESC LIMIT 1',
  claimsUntil: 'SELECT total FROM rates WHERE queue = ? AND at <= ? ORDER BY at DESC LIMIT 1',
  spend: `INSERT INTO rates (queue, at, claims, until, total)
    SELECT ?1, ?2, ?3, ?4, ?3 + coalesce((SELECT total FROM rates WHERE queue = ?1 ORDER BY at DESC LIMIT 1), 0) WHERE TRUE
    ON CONFLICT DO UPDATE SET claims = claims + excluded.claims, until = max(until, excluded.until), total = excluded.total`,
  // Those before the first one that counts: in the order of their times it is found at once.
  forgetClaims: `DELETE FROM rates WHERE queue = ?1 AND at <
    coalesce((SELECT at FROM rates WHERE queue = ?1 AND until > ?2 ORDER BY at LIMIT 1), ?2)`,
  claimsToCome: 'SELECT sum(claims) FROM rates WHERE queue = ? AND at > ?',
  forgetClaimsToCome: 'DELETE FROM rates WHERE queue = ? AND at > ?',

  limitKeyGroup: 'UPDATE key_groups SET limited_until = ? WHERE queue = ? AND concurrency_key = ?',
  freeKeyGroups:
    'UPDATE key_groups INDEXED BY limited_key_groups SET limited_until = NULL WHERE queue = ? AND limited_until <= ?',
  firstLimited: `SELECT limited_until FROM key_groups INDEXED BY limited_key_groups WHERE queue = ? AND limited_until IS NOT NULL
    AND place IS NOT NULL AND leased < ? ORDER BY limited_until LIMIT 1`,
  keyClaimsSince: claimsSince('key_rates', 'queue = ?1 AND concurrency_key = ?2', '?3'),
  lastClaimsOfKey: 'SELECT at, total FROM key_rates WHERE queue = ? AND concurrency_key = ? ORDER BY at DESC LIMIT 1',
  claimsOfKeyUntil:
    'SELECT total FROM key_rates WHERE queue = ? AND concurrency_key = ? AND at <= ? ORDER BY at DESC LIMIT 1',
  spendOfKey: `INSERT INTO key_rates (queue, concurrency_key, at, claims, until, total)
    SELECT ?1, ?2, ?3, 1, ?4, 1 + coalesce((SELECT total FROM key_rates WHERE queue = ?1 AND concurrency_key = ?2
      ORDER BY at DESC LIMIT 1), 0) WHERE TRUE
    ON CONFLICT DO UPDATE SET claims = claims + 1, until = max(until, excluded.until), total = excluded.total`,
  forgetKeyClaims: 'DELETE FROM key_rates WHERE queue = ? AND until <= ?',
  anyKeyClaimToCome: 'SELECT 1 FROM key_rates INDEXED BY key_claims WHERE queue = ? AND at > ? LIMIT 1',
  takeBackKeyClaims: `INSERT INTO key_rates (queue, concurrency_key, at, claims, until, total)
    SELECT queue, concurrency_key, ?2, sum(claims), ?2 + ?3, max(total) FROM key_rates WHERE queue = ?1 AND at > ?2
    GROUP BY concurrency_key
    ON CONFLICT DO UPDATE SET claims = claims + excluded.claims, until = max(until, excluded.until), total = excluded.total`,
  forgetKeyClaimsToCome: 'DELETE FROM key_rates WHERE queue = ? AND at > ?',

  removed: `SELECT seq, tags, failure, checkpointed_attempts FROM ${rowTables} WHERE seq IN (SELECT value FROM json_each(?))
    AND (tags IS NOT NULL OR failure IS NOT NULL OR checkpointed_attempts IS NOT NULL)`,
  failureMerges: 'SELECT merges FROM failure_merges',
  setFailureMerges: `INSERT INTO failure_merges (one, merges) VALUES (1, ?)
    ON CONFLICT (one) DO UPDATE SET merges = excluded.merges`,
  retention: 'SELECT policy FROM retention WHERE type = ?',
  setRetention: `INSERT INTO retention (type, policy) VALUES (?, ?)
    ON CONFLICT (type) DO UPDATE SET policy = excluded.policy WHERE policy <> excluded.policy`,
  looks: 'SELECT queue FROM looks INDEXED BY next_looks WHERE at <= ? ORDER BY at LIMIT +?',
  nextLook: 'SELECT at FROM looks INDEXED BY next_looks ORDER BY at LIMIT 1',
  setLook: 'INSERT INTO looks (queue, at) VALUES (?, ?) ON CONFLICT (queue) DO UPDATE SET at = excluded.at',
  lookAtAll: 'UPDATE looks SET at = 0',

  lastMessage: 'SELECT max(place) FROM messages',
  messagesSince: 'SELECT place, job, id FROM messages CROSS JOIN jobs ON seq = job WHERE place > ? ORDER BY place',
  withMessages: `SELECT id FROM jobs WHERE seq IN (SELECT value FROM json_each(?))
    AND EXISTS (SELECT 1 FROM messages WHERE job = seq)`,
  addMinute: `INSERT OR IGNORE INTO minutes (minute, first)
    SELECT ?1, ?2 WHERE ?1 >= (SELECT coalesce(min(minute), ?1) FROM minutes)`,
  forgetMinutes: 'DELETE FROM minutes WHERE minute < (SELECT max(minute) FROM minutes) - ?',
  firstSince: `SELECT min(first) FROM minutes WHERE minute >= ?1
    HAVING EXISTS (SELECT 1 FROM minutes WHERE minute < ?1)`,

  append: 'INSERT INTO log (last, first, at, transitions) VALUES (?, ?, ?, ?)',
  forgetLog: 'DELETE FROM log WHERE last <= ?',
  addGone: `INSERT OR REPLACE INTO gone (job, id, last) SELECT seq, id, coalesce(last_seq, seq) FROM ${rowTables}
    WHERE seq IN (SELECT value FROM json_each(?)) AND coalesce(last_seq, seq) > ?`,
  addAsideGone: `INSERT OR REPLACE INTO gone (job, id, last) SELECT seq, id, ? FROM jobs_aside
    WHERE seq IN (SELECT value FROM json_each(?))`,
  forgetGone: 'DELETE FROM gone INDEXED BY leaving_the_log WHERE last <= ?',
  idsOf: `SELECT seq, id FROM jobs WHERE seq IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT job, id FROM gone WHERE job IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT seq, id FROM jobs_aside WHERE seq IN (SELECT value FROM json_each(?1))`,
  logAfter: 'SELECT first, at, transitions FROM log WHERE last > ? ORDER BY last LIMIT +?',

  workers: 'SELECT id, info, seen_at FROM workers ORDER BY place',
  writeWorker: `INSERT INTO workers (id, info, seen_at) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET info = excluded.info, seen_at = excluded.seen_at`,
  removeWorker: 'DELETE FROM workers WHERE id = ?',
  pausedQueues: 'SELECT queue FROM queues INDEXED BY paused WHERE paused = 1',
  writeSeen: 'UPDATE workers SET seen_at = ? WHERE id = ?',

  bulkOperation: 'SELECT record FROM bulk_operations WHERE id = ?',
  runningBulk: 'SELECT record FROM bulk_operations INDEXED BY running_bulk WHERE ended_at IS NULL',
  endedBulk: 'SELECT record FROM bulk_operations WHERE ended_at IS NOT NULL',
  writeBulk: `INSERT INTO bulk_operations (id, ended_at, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET ended_at = excluded.ended_at, record = excluded.record`,
  removeBulk: 'DELETE FROM bulk_operations WHERE id = ?',

  schedule: 'SELECT record FROM schedules WHERE name = ?',
  schedules: 'SELECT record FROM schedules ORDER BY name',
  writeSchedule: `INSERT INTO schedules (name, due_at, computed, record) VALUES (?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at, computed = excluded.computed, record = excluded.record`,
  removeSchedule: 'DELETE FROM schedules WHERE name = ?',
  dueSchedules: `SELECT record FROM (
    SELECT * FROM (${dueTicks('computed = 0')})
    UNION ALL SELECT * FROM (${dueTicks('computed = 1 AND name IN (SELECT value FROM json_each(?2))')}))
    ORDER BY due_at, name LIMIT +?3`,
  nextTick: `SELECT min(due_at) FROM (
    SELECT min(due_at) AS due_at FROM schedules INDEXED BY ticks WHERE computed = 0 AND due_at IS NOT NULL
    UNION ALL SELECT due_at FROM schedules WHERE name IN (SELECT value FROM json_each(?)) AND computed = 1)`,
  firstTick: 'SELECT min(due_at) FROM schedules INDEXED BY ticks WHERE computed = 0 AND due_at IS NOT NULL',

  // Calls in transactions of the user: for their tables see `prefix.ts`.
  addIntents: `INSERT INTO intents (number, receipt, intents)
    SELECT coalesce(max(number), 0) + 1, ?, ? FROM intents`,
  countIntents: 'SELECT count(*) FROM (SELECT 1 FROM intents LIMIT +?)',
  intents: 'SELECT number, receipt, intents FROM intents ORDER BY number LIMIT +?',
  receipts: 'SELECT receipt FROM intents',
  otherEnds: `SELECT count(*) FROM intents WHERE receipt <> ? AND CASE WHEN json_valid(intents) THEN
    intents ->> '$[0].kind' = 'settle' AND intents ->> '$[0].request.token' = ? AND intents -> '$[0].request.id' = ? END`,
  removeIntents: 'DELETE FROM intents WHERE number = ?',
  addCarriedOut: 'INSERT OR REPLACE INTO carried_out (receipt, at, refused) VALUES (?, ?, ?)',
  carriedOut: 'SELECT receipt FROM carried_out WHERE receipt IN (SELECT value FROM json_each(?))',
  refusals: 'SELECT refused FROM carried_out WHERE refused IS NOT NULL LIMIT +?',
  forgetRefusals: `UPDATE carried_out SET refused = NULL
    WHERE receipt IN (SELECT receipt FROM carried_out WHERE refused IS NOT NULL LIMIT +?)`,
  forgetCarriedOut: 'DELETE FROM carried_out WHERE at < ? AND refused IS NULL',
  countsOfQueues: 'SELECT type, counts FROM queues',

  ...repairTexts,
} as const

type StatementName = keyof typeof texts

/** The rows that the statements return. */
interface RowOf extends RepairRowOf {
  version: [number]
  fileVersion: [number]
  lastSeq: [number | null]
  queueOf: QueueValues
  queueAt: QueueValues
  queues: QueueValues
  addQueue: [queue: number]
  existing: [id: string, queue: number]
  byId: RowValues
  bySeq: RowValues
  unreadable: [id: string]
  aside: [seq: number, id: string, tags: string | null]
  holder: RowValues
  anyPredecessor: [1]
  predecessor: [1]
  pausedQueues: [queue: number]
  ready: RowValues
  stepsOf: PackedStep
  bySeqs: RowValues
  machinesOf: [job: number, state: string | null, at: number | null, ...machine: MachineValues]
  stepsOfEach: [job: number, ...step: PackedStep]
  keyGroup: [
    leasedCount: number,
    priority: number | null,
    place: number | null,
    start: number | null,
    finish: number | null,
  ]
  keyGroups: [concurrencyKey: string, leasedCount: number]
  nextLeasedCount: [leasedCount: number | null]
  firstKeyGroup: [concurrencyKey: string, priority: number, place: number]
  firstLimitedKeyGroup: [concurrencyKey: string, priority: number, place: number]
  firstShare: [concurrencyKey: string, priority: number, place: number, finish: number]
  headOfKeyGroup: [priority: number, place: number]
  headOfShare: [priority: number, place: number, options: string | null]
  headOfQueue: [job: number | null, enqueuedAt: number]
  claimsSince: [claims: number | null]
  lastClaims: [at: number, total: number]
  claimsUntil: [total: number]
  claimsToCome: [claims: number | null]
  firstLimited: [until: number]
  keyClaimsSince: [claims: number | null]
  lastClaimsOfKey: [at: number, total: number]
  claimsOfKeyUntil: [total: number]
  anyKeyClaimToCome: [1]
  due: RowValues
  nextDue: [at: number]
  countTaken: [rows: number]
  claims: [claim: number, first: number, token: string, worker: string, at: number, leaseAt: number, jobs: string]
  freeClaim: [claim: number | null]
  checkinOf: RowValues
  ends: [last: number, at: number, jobs: string, groups: string]
  behind: [jobs: number]
  endedOf: [last: number, jobs: string]
  endedWith: [queue: number, state: JobState, last: number, jobs: string]
  removed: [seq: number, tags: string | null, failure: string | null, checkpointedAttempts: number | null]
  failureMerges: [merges: string]
  retention: [policy: string]
  looks: [queue: number]
  nextLook: [at: number]
  firstSince: [first: number | null]
  activityOf: ActivityValues
  heatOf: [name: string, count: number, lastId: string, at: number]
  addFailure: [count: number]
  failures: FailureValues
  failuresOf: FailureValues
  machine: MachineValues
  checkpointAt: [state: string, at: number]
  checkpointsOf: [number: number, state: string, seq: number, at: number, note: string]
  messagesAfter: PackedInboxEntry
  lastMessage: [place: number | null]
  messagesSince: [place: number, job: number, id: string]
  withMessages: [id: string]
  anyChild: [1]
  childrenOf: [id: string]
  idsOf: [job: number, id: string]
  logAfter: [first: number, at: number, transitions: string]
  workers: [id: string, info: string, seenAt: number]
  bulkOperation: [record: string]
  runningBulk: [record: string]
  endedBulk: [record: string]
  schedule: [record: string]
  schedules: [record: string]
  dueSchedules: [record: string]
  nextTick: [dueAt: number | null]
  firstTick: [dueAt: number | null]
  countIntents: [count: number]
  intents: [number: number, receipt: string, intents: string]
  receipts: [receipt: string]
  otherEnds: [count: number]
  carriedOut: [receipt: string]
  refusals: [refused: string]
  countsOfQueues: [type: string, counts: string]
}

/** The maximum number of cached statements of lists: there is one for each combination of filters. */
const occasionalMax = 200

type Prepared = ReturnType<Driver['prepare']>

export class Statements {
  private readonly prepared = new Map<string, Prepared>()
  private readonly occasional = new Map<string, Prepared>()
  private readonly db: Pick<Driver, 'prepare'>
  private readonly listener: StatementListener | undefined

  constructor(db: Pick<Driver, 'prepare'>, listener: StatementListener | undefined) {
    this.db = db
    this.listener = listener
  }

  /** Runs a statement for its effect. (`run` of the driver creates a result object; `get` does not.) */
  run(name: StatementName, ...values: SqlValue[]): void {
    const sql = texts[name]
    const statement = this.prepare(sql)
    this.listener?.(sql, 'before')
    statement.get(...values)
    this.listener?.(sql, 'after')
  }

  /** The same, and whether it changed anything. */
  changes(name: StatementName, ...values: SqlValue[]): boolean {
    const sql = texts[name]
    const statement = this.prepare(sql)
    this.listener?.(sql, 'before')
    const { changes } = statement.run(...values)
    this.listener?.(sql, 'after')
    return Number(changes) > 0
  }

  /** The first row, if there is one. */
  get<N extends keyof RowOf>(name: N, ...values: SqlValue[]): RowOf[N] | undefined {
    const sql = texts[name]
    const statement = this.prepare(sql)
    this.listener?.(sql, 'before')
    const row = statement.get(...values)
    this.listener?.(sql, 'after')
    // The driver does not know the types of the columns; they follow from the text of the statement.
    return row as RowOf[N] | undefined
  }

  all<N extends keyof RowOf>(name: N, ...values: SqlValue[]): RowOf[N][] {
    return this.rows(texts[name], values) as unknown[] as RowOf[N][]
  }

  /** Runs a text that is made when it is needed: that of a search or of a repair. */
  query<Values extends readonly unknown[]>(sql: string, values: readonly SqlValue[] = []): Values[] {
    return this.rows(sql, values, this.occasional) as unknown[] as Values[]
  }

  private rows(sql: string, values: readonly SqlValue[], kept = this.prepared): unknown[][] {
    const statement = this.prepare(sql, kept)
    this.listener?.(sql, 'before')
    // It gives lists, as `prepare` has set it.
    const rows = statement.all(...values) as unknown as unknown[][]
    this.listener?.(sql, 'after')
    return rows
  }

  private prepare(sql: string, kept = this.prepared): Prepared {
    let statement = kept.get(sql)
    if (statement === undefined) {
      statement = this.db.prepare(sql)
      if (kept === this.occasional && kept.size >= occasionalMax) kept.clear()
      kept.set(sql, statement)
    }
    return statement
  }
}
