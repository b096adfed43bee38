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
const desk = 'test/stores/sqlite-desk.test.ts'

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

const tokens: readonly Mutant[] = [
  put('the token is not compared', 'row', 'this.token === token && this.attempt', 'this.attempt'),
  put('the attempt is not compared', 'row', 'this.token === token && this.attempt === attempt', 'this.token === token'),
  put('whoever knows the id may settle', 'row', ' && this.token === token && this.attempt === attempt', ''),
  put('no claim has a token of its own', 'claim', 'row.token = token', "row.token = 'token'"),
  put('a settle that is repeated is lost', 'settle', 'last?.token === token && last', 'last?.token === null && last'),
  put('a settle that is repeated settles', 'settle', 'if (!row.isHeldBy(settlement)) {', 'if (row.leaseAt === null) {'),
  put('a heartbeat needs no token', 'settle', 'row?.isHeldBy(sign) !== true', 'row === undefined'),
  drop('a heartbeat does not make the lease longer', 'settle', "  books.sql.run('lease', row.leaseAt, row.seq)\n"),
  put(
    'a heartbeat does not tell of a cancel',
    'settle',
    "mark === null ? { outcome: 'held' }",
    "mark !== undefined ? { outcome: 'held' }",
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
  put('a paused queue gives jobs', 'claim', 'queue === undefined || queue.paused ?', 'queue === undefined ?'),
  drop(
    'the cap of a type is ignored',
    'claim',
    'if (concurrency !== null) room = Math.min(room, concurrency - queue.held)',
  ),
  put('the cap of a key is ignored', 'claim', 'first(queue, perKey ?? Infinity)', 'first(queue, Infinity)'),
  drop(
    'the rate is ignored',
    'claim',
    'if (rate !== null && room > 0) room = Math.min(room, freeClaims(books, queue, rate))',
  ),
  drop('the rate is not spent', 'claim', 'if (rate !== null) spend(books, queue, rate, given.length)'),
  put(
    'of a whole rate all comes free at once',
    'rate',
    "'claimsSince', queue.number, now - rate.perMs",
    "'claimsSince', queue.number, now - rate.perMs / 2",
  ),
  put('jobs with a key come last', 'claim', 'before(a.priority, a.place, [b.priority, b.place]) ? a : b', 'a'),
  drop(
    'a lane that lost its first job does not look for the next',
    'lanes',
    'if (from === claimable && head !== null && head[1] === row.place) next = this.head(queue, key)',
  ),
  put(
    'a lane does not count what is held',
    'lanes',
    'this.write(queue, key, count + change, next)',
    'this.write(queue, key, count, next)',
  ),
  put(
    'a lane has the last job first',
    'lanes',
    'priority === other[0] && place < other[1]',
    'priority === other[0] && place > other[1]',
  ),
  put('who comes back goes to the end', 'books', 'if (to === claimable && !wasHeld)', 'if (to === claimable)'),
]

const keys: readonly Mutant[] = [
  drop('a cancel does not free the key', 'books', 'if (ended.has(to)) row.heldKey = null\n    else '),
  put('the end of a run does not free the key', 'statements', 'lease_at = NULL, held_key = NULL,', 'lease_at = NULL,'),
  put('a failure frees the key', 'books', 'if (ended.has(to)) row.heldKey', 'if (to !== claimable) row.heldKey'),
  put('a retry does not take its key back', 'books', 'row.heldKey = row.key', 'row.heldKey = null'),
  put(
    'a retry takes a key from its holder',
    'admin',
    'key !== null && (books.rows.holder',
    'key === null && (books.rows.holder',
  ),
  put('a retry runs beside a job of its key', 'admin', 'undefined || isLeaving(books, queue, key))', 'undefined)'),
  put(
    'a job runs beside the one that it supersedes',
    'insert',
    'const waits = isHeld(holder.state) || waitsForAnother(holder)',
    'const waits = false',
  ),
  put(
    'a job runs beside one that has given up its key',
    'insert',
    'isLeaving(books, books.queues.of(job.type), job.key)',
    'false',
  ),
  put(
    'a job that waits for another one waits for ever',
    'settle',
    'keyless ? releaseSuccessor(books, row) : null',
    'null',
  ),
  put('a lease that ends lets nobody go on', 'sweep', 'keyless ? releaseSuccessor(books, row) : null', 'null'),
  put('a job that waits for another one forgets its delay', 'successor', 'dueAt <= books.now', 'dueAt > 0'),
  drop('a cancelled job keeps new ones away', 'insert', ' || isStopping(holder.state)'),
  put(
    'a running job is replaced',
    'insert',
    " || !backlog.has(holder.state)) return found('duplicate'",
    ") return found('duplicate'",
  ),
  put(
    'a full store takes one more',
    'insert',
    'books.queues.backlog() >= capacity',
    'books.queues.backlog() > capacity',
  ),
]

const books: readonly Mutant[] = [
  drop('a request that is refused is not taken back', 'books', "        this.sql.run('backToMark')\n"),
  put(
    'a request that is refused stays in the counts',
    'books',
    'endMark(outer, done !== null)',
    'endMark(outer, true)',
  ),
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
  drop(
    'a request that is refused leaves a gap in the log',
    'books',
    '        this.rows.forget()\n        this.seq = seq\n',
  ),
  put('what a request of many has moved is not logged', 'books', 'else moves.append(this.moves)', ''),
  drop('moves are not logged', 'books', "    sql.run('append', seq, this.firstSeq, this.now, moves.toString())\n"),
  drop('a move is not counted where it arrives', 'books', '    this.queues.count(queue, to, 1)\n'),
  drop('a move is not in the history', 'books', '    row.history = withMove(row, entry)\n'),
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
    "this.sql.run('move', row.state,",
    "this.sql.run('move', row.state === 'cancelled' ? 'queued' : row.state,",
  ),
  put('a running job is discarded', 'admin', '=> isEnded(state))\n  books', "=> state !== 'queued')\n  books"),
  drop('a retry keeps the results of steps', 'admin', '    forgetSteps(books, row)\n'),
  put(
    'a new life has the end of the one before',
    'books',
    'row.finishedAt = ended.has(to) ? this.now : null',
    'row.finishedAt ??= ended.has(to) ? this.now : null',
  ),
]

const sweeps: readonly Mutant[] = [
  put('what is not due is promoted', 'sweep', "'due', books.now, limit", "'due', books.now + 2_500, limit"),
  put(
    'leases are taken back before they run out',
    'sweep',
    "'expired', books.now, limit",
    "'expired', books.now + 2_500, limit",
  ),
  put('all leases are taken back', 'sweep', "'expired', books.now, limit", "'expired', Number.MAX_SAFE_INTEGER, limit"),
  drop('a rescue leaves no error', 'sweep', '    keepError(books, row, leaseExpired)\n'),
  put(
    'the newest are pruned',
    'statements',
    'finished_at IS NOT NULL ORDER BY moved LIMIT',
    'finished_at IS NOT NULL ORDER BY moved DESC LIMIT',
  ),
  put('nothing is too old', 'sweep', 'nextAt > books.now', 'nextAt > 0'),
  put('nothing is too much', 'sweep', 'goesAt(bounds, kept - jobs.length,', 'goesAt(bounds, 0,'),
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
    'books',
    '      this.rows.forget()\n      this.seq = this.sql',
    shared,
  ),
  put(
    'moves of others are not counted',
    'books',
    "this.seq = this.sql.get('lastSeq')",
    "this.seq ||= this.sql.get('lastSeq')",
    shared,
  ),
  drop('queues are believed after others wrote', 'books', '      this.queues.doubt()\n', shared),
  drop(
    'the list of queues is believed after others wrote',
    'queues',
    '    this.fresh.clear()\n    this.allFresh = false\n',
    shared,
  ),
  drop('counts are not written', 'books', '    this.queues.write()\n', shared),
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
    "      if (changes) books.finish()\n      sql.run('commit')",
    "      const { queues } = books\n      const write = queues.write.bind(queues)\n      queues.write = () => {}\n      if (changes) books.finish()\n      sql.run('commit')\n      queues.write = write\n      write()",
    deaths,
  ),
  put(
    'each call has a transaction of its own',
    'engine',
    '        if (enough()) break\n',
    "        if (changes) {\n          books.queues.write()\n          sql.run('commit')\n          sql.run('begin')\n        }\n",
    deaths,
  ),
  drop(
    'what others did is not told',
    'engine',
    '    if (stale) catchUp(books, connection.version === null ? null : seq)\n',
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
  put('a checkpoint needs no token', 'machine', 'row?.isHeldBy(speaker) !== true', 'row === undefined'),
  put('a checkpoint may leave others out', 'machine', 'number !== machine.number + 1', 'number <= machine.number'),
  put(
    'letters go before they are read',
    'machine',
    'const read = Math.min(next.read, machine.letters)',
    'const read = machine.letters',
  ),
  put(
    'attempts that led to a checkpoint count',
    'machine',
    'spare(books, row, row.attempt - 1)',
    'spare(books, row, 0)',
  ),
  drop(
    'spared attempts are not given back',
    'books',
    '      if (row.spared !== null && row.attempt === 0) spare(this, row, 0)\n',
  ),
  put('a machine that parks sleeps on its letters', 'settle', ': wake(books, row, machineOf(books, row))', ': null'),
  drop(
    'a settle that is repeated tells of no WAKE',
    'settle',
    "  row.settled = packSettled({ token, attempt, answer })\n  books.sql.run('keepSettled', row.settled, row.seq)\n",
  ),
  put(
    'a parent that has ended is written to',
    'children',
    'parent === undefined || isEnded(parent.state) ? null : parent',
    'parent ?? null',
  ),
  put('nobody hears of a child that died with its worker', 'sweep', '[tellEnd(books, row),', '[null,'),
  drop('children outlive a cancel', 'cancel', '  if (families) cancelChildren(books, struck, graceMs, moves)\n'),
  put('each cancel is a letter', 'cancel', 'row.spared === null || row.cancel !== null', 'row.spared === null'),
  put(
    'a cancel that was taken is no cancel',
    'settle',
    'settlement.cancelTaken === true && row.cancel !== null',
    'settlement.cancelTaken === true && row.cancel === null',
  ),
  put(
    'a letter sent twice is two',
    'letters',
    "[]).includes(key)) return 'duplicate'",
    "[]).length < 0) return 'duplicate'",
  ),
  put(
    'of a running job two rows are believed',
    'rows',
    'return this.running.get(values[1]) ?? new Row(values)',
    'return new Row(values)',
    desk,
  ),
  drop('a retry from the start goes on', 'admin', '    if (fromStart) startOver(books, row)\n'),
  drop('checkpoints stay when their job goes', 'machine', "  sql.run('removeWays', numbers)\n", deaths),
  drop('letters of others are not told of', 'log', '  books.mail.catchUp()\n', desk),
  drop('own letters are told of as those of others', 'books', '    this.mail.finish()\n', desk),
  put('a file of an older version is left as it is', 'database', '!== fileVersion) migrate', '=== 0) migrate', files),
]

const trouble: readonly Mutant[] = [
  put(
    'a commit that fails is acknowledged',
    'engine',
    "      sql.run('commit')\n",
    "      try { sql.run('commit') } catch {}\n",
    room,
  ),
  drop('what is asked while it closes is never answered', 'desk', '    this.rejectAll(closed(this.path))\n', desk),
  put(
    'a look that fails ends the process',
    'engine',
    '    } catch {\n      return []\n    }\n',
    '    } catch (error) {\n      throw error\n    }\n',
    desk,
  ),
  put('a newer file is opened', 'database', 'if (version > fileVersion) throw', 'if (version < 0) throw', files),
  put(
    'a file of another program is taken',
    'database',
    "pragma(db, 'application_id') !== applicationId",
    "path === ''",
    files,
  ),
  put('a file on a network is opened', 'database', 'if (filesystem === undefined) return', 'return', opening),
]

export const mutants: readonly Mutant[] = [
  ...tokens,
  ...claims,
  ...keys,
  ...books,
  ...sweeps,
  ...processes,
  ...machines,
  ...trouble,
]
