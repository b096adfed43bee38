/**
 * Mistakes that the SQLite store could make. Each must be noticed by a test: a promise whose breach nobody notices is not
 * kept by anything. (Those of the engine are in `test/simulation/mutants.ts`.)
 */
import type { Mistake } from '../support/source-copy.ts'

export interface Mutant extends Mistake {
  /** The test file that must notice; default: the contract in one process. */
  readonly by?: string
}

export const contract = 'test/stores/sqlite.test.ts'
/** What only another process can notice. */
const shared = 'test/stores/sqlite-shared.test.ts'
/** What only the death of the process shows. */
const deaths = 'test/stores/sqlite-kill.test.ts'
const files = 'test/stores/sqlite-files.test.ts'
const room = 'test/stores/sqlite-full.test.ts'
const opening = 'test/stores/sqlite-opening.test.ts'
const desk = 'test/stores/sqlite-call-queue.test.ts'

const of = (file: string) => `src/stores/sqlite/${file}.ts`
const drop = (name: string, file: string, right: string, by?: string): Mutant => ({
  name,
  file: of(file),
  right,
  wrong: '',
  ...(by !== undefined && { by }),
})
const put = (name: string, file: string, right: string, wrong: string, by?: string): Mutant => ({
  ...drop(name, file, right, by),
  wrong,
})

/** A mistake in an operation, which every store would make. */
const inCore = (name: string, file: string, right: string, wrong = ''): Mutant => ({
  name,
  file: `src/core/${file}.ts`,
  right,
  wrong,
})

const tokens: readonly Mutant[] = [
  put('the token is not compared', 'row', 'this.token === token && this.attempt', 'this.attempt'),
  put('the attempt is not compared', 'row', 'this.token === token && this.attempt === attempt', 'this.token === token'),
  put('whoever knows the id may settle', 'row', ' && this.token === token && this.attempt === attempt', ''),
  put('no claim has a token of its own', 'claim', 'row.token = token', "row.token = 'token'"),
  put('a settle that is repeated is lost', 'unit', 'last?.token === token && last', 'last?.token === null && last'),
  inCore('a settle needs no token', 'settle', '!row.isLeasedBy(settlement)', 'row.worker === null'),
  inCore('a heartbeat needs no token', 'extend', 'row?.isLeasedBy(heartbeat) !== true', 'row === undefined'),
  drop('a heartbeat does not make the lease longer', 'unit', '    this.rows.changed(row, changes.lease)\n'),
  inCore(
    'a heartbeat does not tell of a cancel',
    'extend',
    "notice === null ? { outcome: 'held' }",
    "notice !== undefined ? { outcome: 'held' }",
  ),
]

const schedules: readonly Mutant[] = [
  inCore('schedules: a tick is fired whatever the revision', 'schedule', ' || there.revision !== advance.revision'),
  inCore('schedules: a paused schedule fires', 'schedule', 'there.paused || there.revision', 'there.revision'),
  inCore('schedules: a firing leaves the schedule where it is', 'schedule', 'nextAt: advance.nextAt, missed', 'missed'),
  inCore('schedules: a firing keeps its revision', 'schedule', 'skipped, revision: there.revision + 1', 'skipped'),
  inCore(
    'schedules: a declaration moves the next tick',
    'schedule',
    'nextAt: hasNewTicks ? nextAt : there.nextAt',
    'nextAt',
  ),
  inCore(
    'schedules: a superseded job is not cancelled',
    'schedule',
    "overlap === 'supersede' ? cancelSuperseded(unit, row) : null",
    'null',
  ),
  inCore('schedules: a tick keeps no job away', 'schedule', "overlap === 'skip' ||", 'false &&'),
  put('schedules: a paused schedule is due', 'schedules', 'paused ? null : nextAt', 'nextAt'),
  put(
    'schedules: whoever asks is given computed schedules',
    'statements',
    'WHERE computed = 0 AND due_at <= ?',
    'WHERE due_at <= ?',
  ),
]

const claims: readonly Mutant[] = [
  {
    name: 'a claim does not count the attempt',
    file: 'machines/job.machine.ts',
    right: "CLAIM: { target: 'running', actions: 'spendAttempt' }",
    wrong: "CLAIM: 'running'",
  },
  {
    name: 'the attempt is counted when the lease has run out',
    file: 'machines/job.machine.ts',
    right: "EXPIRE: [{ guard: 'attemptsLeft', target: 'queued' }",
    wrong: "EXPIRE: [{ guard: 'attemptsLeft', target: 'queued', actions: 'spendAttempt' }",
  },
  inCore('a paused queue gives jobs', 'claim', '  if (queue.paused) return 0\n'),
  inCore(
    'the cap of a type is ignored',
    'claim',
    'if (concurrency !== null) room = Math.min(room, concurrency - queue.leasedCount)',
  ),
  put('the cap of a key is ignored', 'key-groups', 'const cap = perKey ?? Infinity', 'const cap = Infinity'),
  inCore(
    'the rate is ignored',
    'claim',
    'if (rate !== null && room > 0) room = Math.min(room, source.freeClaims(rate))',
  ),
  drop('the rate is not spent', 'claim', 'if (rate !== null) spend(unit, queue, rate, given.length)'),
  put(
    'of a whole rate all comes free at once',
    'rate',
    "'claimsSince', queue.number, now - rate.perMs",
    "'claimsSince', queue.number, now - rate.perMs / 2",
  ),
  put('jobs with a key come last', 'claim', 'before(a.priority, a.place, [b.priority, b.place]) ? a : b', 'a'),
  drop(
    'a lane that lost its first job does not look for the next',
    'key-groups',
    'if (from === claimable && lane.first?.head[1] === row.place) next = this.withHead(queue, key, lane)',
  ),
  put('a lane does not count what is held', 'key-groups', '{ ...next, held: lane.held + change }', 'next'),
  put(
    'a lane has the last job first',
    'key-groups',
    'priority === other[0] && place < other[1]',
    'priority === other[0] && place > other[1]',
  ),
  inCore('a job that is given back goes to the end', 'transition', 'claimable.has(to) && !before', 'claimable.has(to)'),
]

const keys: readonly Mutant[] = [
  inCore('an end does not free the key', 'transition', "isEnded(to) ? 'freed'", "to === 'dead' ? 'freed'"),
  put('the end of a run does not free the key', 'statements', 'lease_at = NULL, held_key = NULL,', 'lease_at = NULL,'),
  inCore('a failure frees the key', 'transition', "isEnded(to) ? 'freed'", "!claimable.has(to) ? 'freed'"),
  inCore('a retry does not take its key back', 'transition', "isEnded(from) ? 'taken'", "isEnded(from) ? 'kept'"),
  inCore(
    'a retry takes a key from its holder',
    'admin',
    'key !== null && (unit.holder',
    'key === null && (unit.holder',
  ),
  inCore('a retry runs beside a job of its key', 'admin', 'undefined || unit.hasPredecessor(type, key))', 'undefined)'),
  inCore(
    'a job runs beside the one that it supersedes',
    'insert',
    'job.key !== null && unit.hasPredecessor(job.type, job.key)',
    'false',
  ),
  inCore('a job that waits for another one waits for ever', 'settle', 'releaseSuccessor(unit, row)', 'null'),
  inCore('a lease that ends lets no successor go on', 'sweep', 'releaseSuccessor(unit, row), ', 'null, '),
  inCore('a failure inserts no hook', 'settle', 'insertHook(unit, row)', 'null'),
  inCore('a lost lease inserts no hook', 'sweep', ', insertHook(unit, row)]', ']'),
  inCore('a job keeps the hook of an earlier claim', 'claim', 'row.onDead !== hook', 'row.onDead === null'),
  inCore('only one job of an id has a hook', 'death', 'if (seq === null) continue', 'if (seq === null) return null'),
  put('a settle that is repeated tells of no hook', 'unit', ' && answer.hook === undefined', ''),
  inCore('a job that waits for another one forgets its delay', 'succession', 'next.dueAt > unit.now', 'next.dueAt < 0'),
  inCore('a job that is being cancelled keeps new ones away', 'insert', ' || isStopping(holder.state)) {', ') {'),
  inCore(
    'a running job is replaced',
    'insert',
    'if (backlog.has(holder.state)) return replace(unit, holder, job)',
    'return replace(unit, holder, job)',
  ),
  inCore('a full queue takes one more', 'insert', 'queueGrowth > room.queue.jobs', 'queueGrowth > room.queue.jobs + 1'),
  inCore('a full store takes one more', 'insert', 'growth > room.store', 'growth > room.store + 1'),
]

const writes: readonly Mutant[] = [
  drop('an item that fails is not taken back', 'unit', "        this.sql.run('rollBackToSavepoint')\n"),
  put('an item that fails stays in the counts', 'unit', 'this.queues.endMark(done)', 'this.queues.endMark(true)'),
  put(
    'a queue that was taken back is believed in',
    'queues',
    'if (was === null) this.drop(queue)',
    'if (was === null) continue',
  ),
  put(
    'no item fails alone',
    'engine',
    'calls.slice(0, 1), now, enough, true)',
    'calls.slice(0, 1), now, enough, false)',
  ),
  drop('an item that fails leaves a gap in the log', 'unit', '        this.seq = seq\n      }\n'),
  drop(
    'the transitions of one item among others are not logged',
    'log',
    '    if (stays) this.before.append(this.entry)\n',
  ),
  drop('transitions are not logged', 'log', "    sql.run('append', last, this.first, now, entry.toString())\n"),
  drop('a transition is not counted where it arrives', 'unit', '    this.queues.count(queue, to, 1)\n'),
  drop('a transition is not in the history', 'unit', '    row.history = withTransition(row, entry)\n'),
  put(
    'histories forget who worked before',
    'history',
    'row.worker === null ? row.history : packHistory(row, historyOf(row), true)',
    'row.history',
  ),
  put('histories grow for ever', 'history', 'return entries.slice(-caps.history)', 'return entries'),
  put(
    'a cancelled job can be claimed',
    'rows',
    "this.sql.run('writeTransition', row.state,",
    "this.sql.run('writeTransition', row.state === 'cancelled' ? 'queued' : row.state,",
  ),
  inCore('a running job is discarded', 'admin', 'if (isEnded(row.state)) {', "if (row.state !== 'queued') {"),
  inCore(
    'a retry keeps the results of steps',
    'admin',
    '    if ((row.machine?.checkpoint ?? null) === null) unit.forgetSteps(row)\n',
  ),
  put(
    'a retried job has the end of its life before',
    'unit',
    'row.finishedAt = isEnded(to) ? this.now : null',
    'row.finishedAt ??= isEnded(to) ? this.now : null',
  ),
]

const sweeps: readonly Mutant[] = [
  put('what is not due is promoted', 'unit', "'due', this.now, limit", "'due', this.now + 2_500, limit"),
  put(
    'leases are taken back before they run out',
    'unit',
    "'expired', this.now, limit",
    "'expired', this.now + 2_500, limit",
  ),
  put('all leases are taken back', 'unit', "'expired', this.now, limit", "'expired', Number.MAX_SAFE_INTEGER, limit"),
  inCore(
    'a rescue leaves no error',
    'sweep',
    '    unit.keepError(row, attemptError(unit, row, leaseExpired), failure)\n',
  ),
  put(
    'the newest are pruned',
    'statements',
    'finished_at IS NOT NULL ORDER BY moved LIMIT',
    'finished_at IS NOT NULL ORDER BY moved DESC LIMIT',
  ),
  inCore('nothing is too old', 'prune', 'nextAt > unit.now', 'nextAt > 0'),
  inCore('nothing is too much', 'prune', 'goesAt(bounds, kept - jobs.length,', 'goesAt(bounds, 0,'),
]

const processes: readonly Mutant[] = [
  put(
    'what others write is not noticed',
    'engine',
    'const stale = version !== connection.version',
    'const stale = connection.version === null',
    shared,
  ),
  drop(
    'rows of running jobs are believed after others wrote',
    'unit',
    '      this.rows.forget()\n      this.seq = this.sql',
    shared,
  ),
  put(
    'transitions of others are not counted',
    'unit',
    "this.seq = this.sql.get('lastSeq')",
    "this.seq ||= this.sql.get('lastSeq')",
    shared,
  ),
  drop('queues are believed after others wrote', 'unit', '      this.queues.markStale()\n', shared),
  drop(
    'the list of queues is believed after others wrote',
    'queues',
    '    this.fresh.clear()\n    this.allFresh = false\n',
    shared,
  ),
  drop('counts are not written', 'unit', '    this.queues.write()\n', shared),
  put(
    'answers are given before the commit',
    'engine',
    "      sql.run('commit')\n",
    "      setImmediate(() => sql.run('commit'))\n",
    deaths,
  ),
  put(
    'counts are written in a transaction of their own',
    'engine',
    "      if (changes) unit.finish()\n      else unit.rows.finish()\n      sql.run('commit')",
    "      const { queues } = unit\n      const write = queues.write.bind(queues)\n      queues.write = () => {}\n      if (changes) unit.finish()\n      sql.run('commit')\n      queues.write = write\n      write()",
    deaths,
  ),
  put(
    'each call has a transaction of its own',
    'engine',
    '        if (enough()) break\n',
    "        if (changes) {\n          unit.rows.write()\n          unit.queues.write()\n          sql.run('commit')\n          sql.run('begin')\n        }\n",
    deaths,
  ),
  drop(
    'what others did is not told',
    'engine',
    '    if (stale) catchUp(unit, connection.version === null ? null : seq)\n',
    desk,
  ),
  put('damage is not looked for', 'database', "if (found !== 'ok')", "if (found === 'ok' && path === '')", files),
  put(
    'what cannot be read is passed over',
    'row',
    'return text === null ? otherwise : (JSON.parse(text) as T)',
    'try { return text === null ? otherwise : (JSON.parse(text) as T) } catch { return otherwise }',
    files,
  ),
]

const machines: readonly Mutant[] = [
  inCore('a checkpoint needs no token', 'checkpoint', 'row?.isLeasedBy(request) !== true', 'row === undefined'),
  inCore('a checkpoint may leave others out', 'checkpoint', 'number === current + 1 ||', 'number > current ||'),
  put(
    'messages go before they are read',
    'machines',
    'const read = Math.min(next.read, machine.lastMessage)',
    'const read = machine.lastMessage',
  ),
  inCore(
    'attempts that led to a checkpoint count',
    'checkpoint',
    'row.checkpointedAttempts = row.attempt - 1',
    'row.checkpointedAttempts = 0',
  ),
  inCore(
    'checkpointed attempts are not given back',
    'transition',
    '    if (attempt === 0 && row.checkpointedAttempts > 0) row.checkpointedAttempts = 0\n',
  ),
  inCore('a machine that parks sleeps on its messages', 'settle', ' ?? wakeForUnread(unit, row)', ''),
  put('a settle that is repeated tells of no WAKE', 'unit', 'ended && answer.woken === undefined', 'ended'),
  inCore(
    'a parent that has ended is written to',
    'inbox',
    'parent === undefined || isEnded(parent.state) ? null : parent',
    'parent ?? null',
  ),
  inCore('no parent hears of a child that died with its worker', 'sweep', '[notifyParentOfEnd(unit, row),', '[null,'),
  inCore('children outlive a cancel', 'cancel', '  cancelChildren(unit, forced, graceMs, transitions)\n'),
  inCore('each cancel is a message', 'cancel', ' || row.cancelMark !== null) return', ') return'),
  inCore('a cancel that was taken is no cancel', 'settle', 'if (cancelTaken === true)', 'if (cancelTaken === null)'),
  inCore(
    'a message sent twice is two',
    'inbox',
    'machine?.messageKeys.includes(key) === true',
    'machine?.messageKeys.includes(key) === null',
  ),
  put(
    'of a running job two rows are believed',
    'rows',
    'if (known !== undefined) return known\n    const row',
    'const row',
    desk,
  ),
  inCore('a key that is held until the start stays taken', 'claim', '  if (row.untilStart) unit.giveUpKey(row)\n'),
  inCore('a cancel lets nobody go on', 'cancel', ', releaseSuccessor(unit, row)'),
  inCore('a claim changes the attempts of a job that has fixed them', 'claim', ' && !row.hasPinnedAttempts'),
  inCore('a replace leaves the delay as it is', 'insert', '    else unit.setDue(holder, due)\n'),
  inCore(
    'a retry from the start goes on',
    'admin',
    '    if (fromStart || edit !== undefined) unit.forgetCheckpoints(row)\n',
  ),
  drop(
    'checkpoints stay when their job goes',
    'machines',
    "    this.sql.run('removeCheckpointsOf', numbers)\n",
    deaths,
  ),
  drop('messages of others are not told of', 'catch-up', '  unit.inboxWatch.catchUp()\n', desk),
  drop('own messages are told of as those of others', 'unit', '    this.inboxWatch.finish()\n', desk),
  put('a file of an older version is left as it is', 'database', '!== fileVersion) migrate', '=== 0) migrate', files),
]

const figures: readonly Mutant[] = [
  inCore('figures: a claim is not counted', 'claim', '  unit.count(row, claimCounted, unit.now - queuedAt)\n'),
  inCore(
    'figures: an attempt whose lease runs out has not failed',
    'activity',
    "new Set<string>(['FAIL', 'EXPIRE'])",
    "new Set<string>(['FAIL'])",
  ),
  inCore(
    'figures: a failure is in no group',
    'transition',
    '    if (counted.fails && options.failure) unit.countFailure(row, options.failure)\n',
  ),
  drop(
    'figures: an enqueue is not counted',
    'unit',
    '    this.queues.countActivity(queue, enqueueCounted, 0, this.now)\n',
  ),
  drop(
    'figures: a minute that ends is lost',
    'queues',
    "      if (minuteAt > 0) this.sql.run('addActivity', number, period, periodStart(period, minuteAt), ...minute)\n",
  ),
  put(
    'figures: an item that fails is counted',
    'queues',
    'minuteAt, minute: [...queue.minute] }',
    'minuteAt, minute: queue.minute }',
  ),
  drop('figures: a job that dies is not one of its group', 'unit', '    this.failures.countDead(row, 1)\n'),
  drop('figures: a removed job stays one of its group', 'unit', '      this.failures.countDead(job, -1)\n'),
  drop(
    'figures: groups of failures are kept for ever',
    'failure-table',
    "    if (count === 1) this.sql.run('forgetFailures', queue, caps.failureGroups)\n",
  ),
]

const trouble: readonly Mutant[] = [
  put(
    'a commit that fails is acknowledged',
    'engine',
    "      sql.run('commit')\n",
    "      try { sql.run('commit') } catch {}\n",
    room,
  ),
  drop(
    'what is asked while it closes is never answered',
    'call-queue',
    '    this.rejectAll(closed(this.path))\n',
    desk,
  ),
  put(
    'a look that fails ends the process',
    'engine',
    '    } catch {\n      return null\n    }\n',
    '    } catch (error) {\n      throw error\n    }\n',
    desk,
  ),
  put('a newer file is opened', 'database', 'if (version > fileVersion) throw', 'if (version < 0) throw', files),
  put('a file of another program is taken', 'file-identity', 'application !== applicationId', 'application < 0', files),
  put('a file on a network is opened', 'file-identity', 'if (filesystem === undefined) return', 'return', opening),
]

const handOvers: readonly Mutant[] = [
  inCore('the slots of a lost worker are free', 'hand-over', ' || isLost(info, silentMs)'),
  inCore('the slots of a paused worker are free', 'hand-over', 'info.paused === true || '),
  inCore('leases take no slot', 'hand-over', 'info.slots - leasedCount', 'info.slots'),
  inCore(
    'queued jobs do not go first',
    'hand-over',
    '  for (const [each, most] of runnable) free -= starting(queueOf(each), most)\n',
  ),
  inCore('a hand-over ignores the concurrency of its type', 'hand-over', 'Math.min(free, (runnable', 'Math.min(free, Infinity + (runnable'), // prettier-ignore
  inCore('a paused queue takes hand-overs', 'hand-over', '  if (own?.paused === true) return -Infinity\n'),
]

export const mutants: readonly Mutant[] = [
  ...handOvers,
  ...tokens,
  ...schedules,
  ...claims,
  ...keys,
  ...writes,
  ...sweeps,
  ...processes,
  ...machines,
  ...figures,
  ...trouble,
]
