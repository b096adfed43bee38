/** The SQLite store when its process dies: at statements, and in the middle of commits. */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { isLong } from '../harness/long-form.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { complaintsAbout } from './sqlite/consistency.ts'
import { dieAtEach, playThrough, type Reference } from './sqlite/kill-points.ts'
import { playerOn, script } from './sqlite/script.ts'
import { dieWithinCommits } from './sqlite/torn-commits.ts'

/**
 * Every so many points are tried here, and all of them by `npm run killpoints`. A prime, so that all kinds get a turn.
 */
const stride = isLong ? 37 : 503
/** From this one on; another one in each run. */
const first = Math.floor(Math.random() * stride)

let reference: Reference

beforeAll(async () => {
  reference = await playThrough()
})

function folder(): string {
  const made = temporaryFolder()
  onTestFinished(() => made.remove())
  return made.path
}

/** Dozens of processes are started, one after the other: on a busy machine each takes seconds. */
const timeout = 600_000

test(
  'a process may be killed at any statement: what it was answered is there, the rest wholly or not at all',
  { timeout },
  async () => {
    expect(reference.points).toBeGreaterThan(1_900)
    const points = Array.from({ length: reference.points }, (_, point) => point).filter(
      (point) => point % stride === first,
    )
    const wrong = await dieAtEach(points, reference, 3)
    expect(Object.fromEntries(wrong)).toEqual({})
    console.log(`killed at ${points.length} of ${reference.points} points`)
  },
)

test('a process may be killed anywhere within a commit, that of the first opening included', { timeout }, async () => {
  expect(await dieWithinCommits(reference, stride)).toBeGreaterThan(isLong ? 50 : 12)
})

/** Each changes a sound file so that it contradicts itself in one way. */
const contradictions: Readonly<Record<string, string>> = {
  'a count that is wrong': `UPDATE queues SET counts = json_set(counts, '$.queued', 1 + counts->>'queued') WHERE type = 'mail'`,
  'a queue that does not know of its keys': `UPDATE queues SET keyed = 0`,
  'a key group that counts wrongly': `UPDATE key_groups SET leased = leased + 1`,
  'a key group whose first is another': `UPDATE key_groups SET place = place + 1`,
  'a key group without jobs': `INSERT INTO key_groups (queue, concurrency_key, leased) VALUES (1, 'nobody', 1)`,
  'a key group that is missing': `DELETE FROM key_groups`,
  'a live job without its key': `UPDATE lives SET held_key = NULL WHERE job = (SELECT seq FROM jobs WHERE id = 'r')`,
  'an ended job with a key': `UPDATE lives SET held_key = 'free ' || job WHERE state = 'done'`,
  'a key of another': `UPDATE lives SET held_key = 'z' WHERE job = (SELECT seq FROM jobs WHERE id = 'r')`,
  'a state without a transition': `UPDATE lives SET state = 'dead' WHERE state = 'done'`,
  'an attempt that was not made': `UPDATE lives SET attempt = coalesce(attempt, 1) + 1 WHERE job = (SELECT seq FROM jobs WHERE id = 'p')`,
  'a lease that nobody holds': `INSERT INTO claims (first, token, worker, at, lease_at, jobs)
    SELECT 1, 't', 'w', 1, 1, json_array(seq) FROM jobs WHERE id = 'r'`,
  'an end without a time': `UPDATE lives SET finished_at = NULL WHERE job = (SELECT seq FROM jobs WHERE id = 'p')`,
  'a place that is another': `UPDATE waiting SET place = place + 1000 WHERE job = (SELECT max(job) FROM waiting)`,
  'a queued job that does not wait': `DELETE FROM waiting`,
  'a lease of nobody': `INSERT INTO claims (first, token, worker, at, lease_at, jobs) VALUES (1, 't', 'w', 1, 1, '[9999]')`,
  'an end that is missing': `DELETE FROM ends WHERE groups LIKE '%done%'`,
  'ends in another order': `UPDATE ends SET last = 1000 - last`,
  'an end at another time': `UPDATE ends SET at = at + 1`,
  'a CLAIM at another time': `UPDATE lives SET started_at = started_at + 1 WHERE history IS NULL`,
  'a job that is listed as queued': `INSERT OR IGNORE INTO listed SELECT jobs.queue, 'queued', seq FROM jobs`,
  'a list that lacks jobs': `DELETE FROM listed`,
  'a transition that is not in the history': `UPDATE lives SET history = '"queued"' WHERE job = (SELECT seq FROM jobs WHERE id = 'p')`,
  'a transition that is no arrow': `UPDATE lives SET history = replace(history, 'COMPLETE', 'SNOOZE') WHERE history LIKE '%COMPLETE%'`,
  'a job in no queue': `UPDATE jobs SET queue = 99 WHERE id = 'p'`,
  'a log with a gap': `DELETE FROM log WHERE last = (SELECT max(last) FROM log WHERE last < 30)`,
  'a log that ends too early': `DELETE FROM log WHERE last > 50`,
  'a log that says something else': `UPDATE log SET transitions = replace(transitions, 'COMPLETE', 'RELEASE')`,
  'a checkpointed attempt too many': `UPDATE lives SET checkpointed_attempts = 2 WHERE job = (SELECT seq FROM jobs WHERE id = 'm2')`,
  'a machine that its job does not know of': `UPDATE lives SET checkpointed_attempts = NULL WHERE job = (SELECT seq FROM jobs WHERE id = 'm2')`,
  'a machine that is missing': `DELETE FROM machines WHERE parent IS NOT NULL`,
  'a machine of nobody': `UPDATE jobs SET seq = 1000 WHERE seq = (SELECT job FROM machines LIMIT 1)`,
  'checkpoints of nobody': `UPDATE checkpoints SET job = 1000 + seq`,
  'messages to nobody': `UPDATE messages SET job = 1000 WHERE number = 1`,
  'a machine that stands elsewhere': `UPDATE machines SET number = number - 1 WHERE number > 0`,
  'a machine that stands where another does': `UPDATE machines SET checkpoint = 1 WHERE number > 0`,
  'a checkpoint that is missing': `DELETE FROM checkpoints WHERE number = 2`,
  'a checkpoint that is not in the log': `UPDATE checkpoints SET note = 'elsewhere' WHERE number = 2`,
  'a message that is missing': `DELETE FROM messages WHERE place = (SELECT max(place) FROM messages)`,
  'a message that was read and is there': `UPDATE machines SET last_read = last_message`,
  'a cancel that is taken nowhere': `UPDATE machines SET takes_cancel = 1 WHERE checkpoint IS NULL`,
  'a key that is known twice': `UPDATE machines SET keys = '["a","a"]'`,
  'a machine that is found where it does not stand': `INSERT INTO machine_names SELECT seq, 'state', 'paid' FROM jobs WHERE id = 'm2'`,
  'a rest that is none': `UPDATE log SET transitions = replace(transitions, '"CHECKPOINT","running","running"', '"CHECKPOINT","running","queued"')`,
  'a log with a transition too many': `UPDATE log SET last = last + 1 WHERE last = (SELECT max(last) FROM log)`,
}

/** The file that the script leaves. */
async function played(): Promise<Buffer> {
  const path = join(folder(), 'jobs.db')
  const { store, play } = await playerOn(path)
  for (const index of script.keys()) await play(index)
  await store.close()
  return readFileSync(path)
}

let sound: Promise<Buffer> | undefined

test.each(Object.entries(contradictions))('the checker notices %s', async (_name, sql) => {
  const path = join(folder(), 'jobs.db')
  writeFileSync(path, await (sound ??= played()))
  const db = new DatabaseSync(path)
  db.exec('PRAGMA foreign_keys = OFF')
  const { changes } = db.prepare(sql).run()
  db.close()
  expect(changes).toBeGreaterThan(0)
  expect(complaintsAbout(path)).not.toEqual([])
})
