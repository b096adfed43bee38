/**
 * Mistakes that the SQLite store, a store over a round trip, or the core under both could make, as faults that are
 * injected into them. Each must be noticed by a case: a promise whose breach nobody notices is not kept by anything.
 * (Those of the engine are in `test/simulation/mutants.ts`; those of any store in
 * `test/conformance/broken-stores.test.ts`.)
 */
import { enqueueCounted, type Counted } from '../../src/core/activity.ts'
import type { WorkerSlots } from '../../src/core/hand-over.ts'
import type { BulkOperation } from '../../src/core/bulk-record.ts'
import { isEnded, isLeased, type ArrowEvent } from '../../src/core/lifecycle.ts'
import type { StoredSchedule } from '../../src/core/schedule-record.ts'
import type { CompiledArrow } from '../../src/core/compiled-arrows.ts'
import type { WrittenFields } from '../../src/core/row-fields.ts'
import { fileVersion } from '../../src/stores/sqlite/migrations/index.ts'
import { during, inFunction, inGetter, inMethod, inSetter, together, type Injection } from '../support/faults.ts'
import type { Mutant } from './hunt.ts'
import { remoteMutants } from './remote-mutants.ts'
import { unitMutants } from './unit-mutants.ts'

const admin = () => import('../../src/core/admin.ts')
const bulk = () => import('../../src/core/bulk.ts')
const bulkRows = () => import('../../src/stores/sqlite/bulk.ts')
const cells = () => import('../../src/core/cell.ts')
const cancelling = () => import('../../src/core/cancel.ts')
const checkpointing = () => import('../../src/core/checkpoint.ts')
const claiming = () => import('../../src/core/claim.ts')
const death = () => import('../../src/core/death.ts')
const extending = () => import('../../src/core/extend.ts')
const inbox = () => import('../../src/core/inbox.ts')
const inserting = () => import('../../src/core/insert.ts')
const lifecycle = () => import('../../src/core/lifecycle.ts')
const retention = () => import('../../src/core/retention.ts')
const scheduling = () => import('../../src/core/schedule.ts')
const settling = () => import('../../src/core/settle.ts')
const succession = () => import('../../src/core/succession.ts')
const sweeping = () => import('../../src/core/sweep.ts')
const stopNotices = () => import('../../src/core/stop-notice.ts')
const callQueue = () => import('../../src/stores/sqlite/call-queue.ts')
const catchingUp = () => import('../../src/stores/sqlite/catch-up.ts')
const engine = () => import('../../src/stores/sqlite/engine.ts')
const fileClaim = () => import('../../src/stores/sqlite/claim.ts')
const claimed = () => import('../../src/stores/sqlite/claimed.ts')
const leases = () => import('../../src/stores/sqlite/claims.ts')
const ends = () => import('../../src/stores/sqlite/ends.ts')
const waiting = () => import('../../src/stores/sqlite/waiting.ts')
const jobFile = () => import('../../src/stores/sqlite/job-file.ts')
const jobRow = () => import('../../src/core/job-row.ts')
const units = () => import('../../src/core/unit.ts')
const failureTable = () => import('../../src/stores/sqlite/failure-table.ts')
const handOver = () => import('../../src/core/hand-over.ts')
const histories = () => import('../../src/stores/sqlite/history.ts')
const pruning = () => import('../../src/stores/sqlite/pruning.ts')
const rowCache = () => import('../../src/stores/sqlite/row-cache.ts')
const sqlRow = () => import('../../src/stores/sqlite/row.ts')
const identity = () => import('../../src/stores/sqlite/file-identity.ts')
const inboxWatch = () => import('../../src/stores/sqlite/inbox-watch.ts')
const keyGroups = () => import('../../src/stores/sqlite/key-groups.ts')
const log = () => import('../../src/stores/sqlite/log.ts')
const queues = () => import('../../src/stores/sqlite/queues.ts')
const rates = () => import('../../src/stores/sqlite/rates.ts')
const rows = () => import('../../src/stores/sqlite/rows.ts')
const machineRows = () => import('../../src/stores/sqlite/machines.ts')
const scheduleTable = () => import('../../src/stores/sqlite/schedules.ts')
const statements = () => import('../../src/stores/sqlite/statements.ts')

const workers = () => import('../../src/core/workers.ts')

const mutant = (name: string, noticedBy: string, fault: Injection): Mutant => ({ name, noticedBy, fault })

/** The statement is not run. */
const notRun = (statement: string): Injection =>
  inMethod(statements, 'Statements', 'run', (run) => (name, ...values) => {
    if (name !== statement) run(name, ...values)
  })

/** Every lease is accepted. */
const anybodysLease = inMethod(jobRow, 'JobRow', 'isLeasedBy', () => () => true)

const tokens: readonly Mutant[] = [
  mutant(
    'the token is not compared',
    'contract: settle: a stale token, attempt or id is lost and writes nothing',
    inMethod(jobRow, 'JobRow', 'isLeasedBy', (isLeasedBy, { token }) => (lease) => {
      return isLeasedBy({ ...lease, token: token ?? lease.token })
    }),
  ),
  mutant(
    'the attempt is not compared',
    'contract: machine: a checkpoint in the name of an attempt that is over is lost and writes nothing',
    inMethod(
      jobRow,
      'JobRow',
      'isLeasedBy',
      (isLeasedBy, { attempt }) =>
        (lease) =>
          isLeasedBy({ ...lease, attempt }),
    ),
  ),
  mutant(
    'whoever knows the id may settle',
    'contract: settle: the same token settled twice gets the same answer twice',
    during(
      settling,
      'settle',
      inMethod(jobRow, 'JobRow', 'isLeasedBy', (isLeasedBy, { attempt, token }) => (lease) => {
        return isLeasedBy({ attempt, token: token ?? lease.token })
      }),
    ),
  ),
  mutant(
    'no claim has a token of its own',
    'contract: claim: a claim counts the attempt and sets worker, token and lease',
    inFunction(fileClaim, 'claim', (claim) => (unit, request) => claim(unit, { ...request, token: 'token' })),
  ),
  mutant(
    'a settle that is repeated is lost',
    'contract: unique: the job that supersedes a running one is queued by the write that ends that one',
    inMethod(units, 'Unit', 'settledBefore', () => () => null),
  ),
  mutant(
    'a settle needs no token',
    'contract: settle: the same token settled twice gets the same answer twice',
    during(settling, 'settle', anybodysLease),
  ),
  mutant(
    'a heartbeat needs no token',
    'contract: extend: a heartbeat with a stale token is lost and writes nothing',
    during(extending, 'extend', anybodysLease),
  ),
  mutant(
    'a heartbeat does not make the lease longer',
    'contract: extend: a heartbeat extends the lease',
    inMethod(units, 'Unit', 'extendLease', () => () => {}),
  ),
  mutant(
    'a heartbeat does not tell of a cancel',
    'contract: extend: the answer to a heartbeat reports a cancel, with its reason and grace, and the lease is extended',
    during(
      extending,
      'extend',
      inFunction(stopNotices, 'stopNotice', () => () => null),
    ),
  ),
]

/** The schedule is seen otherwise when it fires. */
const firing = (change: (schedule: StoredSchedule) => Partial<StoredSchedule>): Injection =>
  during(
    scheduling,
    'fireSchedule',
    inMethod(scheduleTable, 'ScheduleTable', 'schedule', (schedule) => (name) => {
      const found = schedule(name)
      return found && { ...found, ...change(found) }
    }),
  )

/** The request of a firing is another one. */
const advancing = (change: (there: StoredSchedule) => { revision: number } | { nextAt: number | null }): Injection =>
  inFunction(scheduling, 'fireSchedule', (fire) => (unit, table, request) => {
    const there = table.schedule(request.name)
    const { advance } = request
    if (there === undefined || advance === null) return fire(unit, table, request)
    return fire(unit, table, { ...request, advance: { ...advance, ...change(there) } })
  })

const schedules: readonly Mutant[] = [
  mutant(
    'schedules: a tick is fired whatever the revision',
    'contract: schedules: a firing with an older revision writes nothing',
    advancing(({ revision }) => ({ revision })),
  ),
  mutant(
    'schedules: a paused schedule fires',
    'contract: schedules: a paused schedule fires only by a manual trigger',
    firing(() => ({ paused: false })),
  ),
  mutant(
    'schedules: a firing leaves the schedule where it is',
    'contract: schedules: a declaration and a firing send a hint of the next tick',
    advancing(({ nextAt }) => ({ nextAt })),
  ),
  mutant(
    'schedules: a firing keeps its revision',
    'contract: schedules: a firing with an older revision writes nothing',
    during(
      scheduling,
      'fireSchedule',
      inMethod(scheduleTable, 'ScheduleTable', 'saveSchedule', (save) => (schedule) => {
        save({ ...schedule, revision: schedule.revision - 1 })
      }),
    ),
  ),
  mutant(
    'schedules: a declaration moves the next tick',
    'contract: schedules: the same terms change nothing; another input keeps the next tick, another spec or time zone changes it',
    inFunction(scheduling, 'putSchedule', (put) => (unit, request) => {
      const answer = put(unit, request)
      if (answer.outcome !== 'changed' || answer.schedule === null) return answer
      const schedule = { ...answer.schedule, nextAt: request.nextAt }
      unit.saveSchedule(schedule)
      return { ...answer, schedule }
    }),
  ),
  mutant(
    'schedules: a superseded job is not cancelled',
    'contract: schedules: overlap supersede: a waiting job is cancelled at once; a running one is marked, and the new one waits for its end',
    during(
      scheduling,
      'fireSchedule',
      inFunction(cancelling, 'cancelSuperseded', () => () => null),
    ),
  ),
  mutant(
    'schedules: a tick keeps no job away',
    'contract: schedules: overlap skip: no job while one has not ended',
    firing(({ overlap }) => ({ overlap: overlap === 'skip' ? 'allow' : overlap })),
  ),
  mutant(
    'schedules: a paused schedule is due',
    'contract: schedules: due are those whose tick has come, earliest first, and the next tick of all is told',
    inMethod(scheduleTable, 'ScheduleTable', 'due', (due, table) => (request) => {
      const answer = due(request)
      const paused = table.list().filter((each) => each.paused && each.nextAt !== null && each.nextAt <= table.now)
      return { ...answer, schedules: [...answer.schedules, ...paused] }
    }),
  ),
  mutant(
    'schedules: whoever asks is given computed schedules',
    'contract: schedules: a schedule with a computed input is due only for calls that name it',
    inMethod(scheduleTable, 'ScheduleTable', 'due', (due, table) => (request) => {
      return due({ ...request, computed: table.list().map(({ name }) => name) })
    }),
  ),
]

/** A claim has other limits. */
const claimRoomWithout = (limit: 'concurrency' | 'rate'): Injection =>
  inFunction(claiming, 'claimRoom', (claimRoom) => (demand, source) => {
    return claimRoom({ ...demand, limits: { ...demand.limits, [limit]: null } }, source)
  })

/** The transition of an event leaves something else behind. */
const atEvent = (event: ArrowEvent, change: 'one attempt more' | 'one attempt fewer'): Injection =>
  inMethod(units, 'Unit', 'apply', (apply) => (job, arrow, options) => {
    if (arrow.event === event && arrow.to !== 'dead') job.attempt += change === 'one attempt more' ? 1 : -1
    return apply(job, arrow, options)
  })

/** The operation is kept otherwise. */
const keeping = (change: (operation: BulkOperation) => Partial<BulkOperation>): Injection =>
  inMethod(bulkRows, 'BulkRows', 'save', (save) => (operation) => save({ ...operation, ...change(operation) }))

const bulkOperations: readonly Mutant[] = [
  mutant(
    'bulk: each batch starts at the first job',
    'contract: bulk: jobs that were enqueued, or that have ended, after the start are not changed',
    keeping(() => ({ cursor: null })),
  ),
  mutant(
    'bulk: a batch is not counted',
    'contract: bulk: an operation is done in batches, and keeps its progress with each',
    keeping(() => ({ counts: {} })),
  ),
  mutant(
    'bulk: anyone may go on with an operation',
    'contract: bulk: while its lease runs an operation is left to its token; then another goes on where it stands',
    keeping(() => ({ leaseUntil: 0 })),
  ),
  mutant(
    'bulk: an operation that was stopped goes on',
    'contract: bulk: an operation that was stopped changes nothing more; what it has done stays',
    during(
      bulk,
      'stopBulk',
      keeping(() => ({ state: 'running', endedAt: null })),
    ),
  ),
  mutant(
    'bulk: operations that have ended are kept for ever',
    'contract: bulk: of the operations that have ended, the last ones are kept',
    notRun('removeBulk'),
  ),
  mutant(
    'bulk: a start without a lease is told to nobody',
    'contract: watch: a bulk operation that is started without a lease, and does not end at once, sends a bulk hint',
    inMethod(bulkRows, 'BulkRows', 'offer', () => () => {}),
  ),
]

const claims: readonly Mutant[] = [
  mutant(
    'a claim does not count the attempt',
    'contract: claim: a claim counts the attempt and sets worker, token and lease',
    atEvent('CLAIM', 'one attempt fewer'),
  ),
  mutant(
    'the attempt is counted when the lease has run out',
    'contract: time: a job whose lease has run out is queued again at its old place, the attempt spent',
    atEvent('EXPIRE', 'one attempt more'),
  ),
  mutant(
    'a paused queue gives jobs',
    'contract: claim: a claim of a paused queue returns no jobs, with the reason paused',
    inFunction(claiming, 'claimRoom', (claimRoom) => (demand, source) => {
      return source.queue.paused ? Math.min(demand.max, source.queue.queued) : claimRoom(demand, source)
    }),
  ),
  mutant(
    'the cap of a type is ignored',
    'contract: watch: the end of a run makes a type at its concurrency limit ready',
    claimRoomWithout('concurrency'),
  ),
  mutant(
    'the cap of a key is ignored',
    'contract: shares: a key at its concurrency limit gives its share to the others, and catches up when it is below',
    inMethod(keyGroups, 'KeyGroups', 'first', (first) => (queue, demand, now) => {
      return first(queue, { ...demand, limits: { ...demand.limits, perKey: null } }, now)
    }),
  ),
  mutant(
    'the rate is ignored',
    'contract: claim: no more claims than the rate allows, in any window',
    claimRoomWithout('rate'),
  ),
  mutant(
    'the rate is not spent',
    'contract: claim: no more claims than the rate allows, in any window',
    inFunction(rates, 'spend', () => () => {}),
  ),
  mutant(
    'of a whole rate all comes free at once',
    'contract: claim: no more claims than the rate allows, in any window',
    inFunction(rates, 'freeClaims', (freeClaims) => (unit, queue, rate) => {
      return freeClaims(unit, queue, { ...rate, perMs: rate.perMs / 2 })
    }),
  ),
  mutant(
    'jobs with a key come last',
    'contract: claim: one key cannot take every slot, and jobs without a key are not limited',
    inFunction(keyGroups, 'before', () => () => true),
  ),
  mutant(
    'a key group that lost its first job does not look for the next',
    'contract: shares: the weight of a key is that of its first job',
    inMethod(statements, 'Statements', 'get', (get) => (name, ...values) => {
      return name === 'headOfKeyGroup' ? undefined : get(name, ...values)
    }),
  ),
  mutant(
    'a key group does not count its leased jobs',
    'contract: claim: one key cannot take every slot, and jobs without a key are not limited',
    inMethod(statements, 'Statements', 'run', (run) => (name, ...values) => {
      const [queue = null, key = null, , ...first] = values
      run(name, ...(name === 'writeKeyGroup' ? [queue, key, 0, ...first] : values))
    }),
  ),
  mutant(
    'the last of the key groups comes first',
    'contract: shares: without shares the jobs of all keys are claimed first in, first out',
    inMethod(statements, 'Statements', 'run', (run) => (name, ...values) => {
      const [queue = null, key = null, count = null, priority = null, place = null] = values
      run(name, ...(name === 'writeKeyGroup' ? [queue, key, count, priority, place && -Number(place)] : values))
    }),
  ),
  mutant(
    'a job that is given back goes to the end',
    'contract: claim: a released job gets its old place back, a retried one goes to the end',
    inMethod(units, 'Unit', 'apply', (apply) => (job, arrow, options) => {
      const takesPlace = arrow.takesPlace || (arrow.lease === 'ends' && arrow.to === 'queued')
      return apply(job, { ...arrow, takesPlace }, options)
    }),
  ),
]

const noSuccessor = inFunction(succession, 'releaseSuccessor', () => () => null)
/** Fields of jobs that are not written. */
const writesNot = (...names: readonly (keyof WrittenFields)[]): Injection =>
  inMethod(units, 'Unit', 'write', (write) => (job, fields) => {
    write(
      job,
      Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name as (typeof names)[number]))),
    )
  })
/** A job gives up its key at a transition. */
const losesKey = (at: (arrow: CompiledArrow) => boolean): Injection =>
  inMethod(units, 'Unit', 'apply', (apply, unit) => (job, arrow, options) => {
    const logged = apply(job, arrow, options)
    if (at(arrow)) unit.giveUpKey(job)
    return logged
  })
const noHook = inFunction(death, 'insertHook', () => () => null)
const noPredecessor = inMethod(rows, 'Rows', 'hasPredecessor', () => () => false)
/** An insert has room for one more. */
const oneMore = (of: 'queue' | 'store'): Injection =>
  inFunction(inserting, 'insert', (insert) => (unit, request) => {
    const { capacity, queue } = request
    if (of === 'store') return insert(unit, { ...request, capacity: capacity === null ? null : capacity + 1 })
    return insert(
      unit,
      queue === undefined ? request : { ...request, queue: { ...queue, capacity: queue.capacity + 1 } },
    )
  })

const keys: readonly Mutant[] = [
  mutant(
    'an end has no time, and does not free the key',
    'contract: settle: a settlement that has ended a job gets the same answer after a retry of the job',
    inMethod(units, 'Unit', 'apply', (apply) => (job, arrow, options) => {
      return apply(job, arrow.key === 'freed' ? { ...arrow, key: 'kept' } : arrow, options)
    }),
  ),
  mutant(
    'the end of a run does not free the key',
    'contract: unique: a job that is being cancelled does not keep others out: a new one is inserted, and waits for its end',
    inFunction(
      sqlRow,
      'heldKeyColumn',
      () =>
        ({ key, rarely }) =>
          rarely.hasGivenUpKey ? null : key,
    ),
  ),
  mutant(
    'a failure frees the key',
    'contract: unique: a key is taken while its job is scheduled, runs, or waits to retry',
    losesKey(({ to }) => to === 'retrying'),
  ),
  mutant(
    'a retry does not take its key back',
    'contract: succession: a retry of the ended job takes the key until its next start',
    losesKey(({ key }) => key === 'taken'),
  ),
  mutant(
    'a retry takes a key from its holder',
    'contract: again: a retried job takes its unique key again, and is refused if another job holds it',
    during(
      admin,
      'retry',
      inMethod(rows, 'Rows', 'holder', () => () => undefined),
    ),
  ),
  mutant(
    'a retry runs beside a job of its key',
    'contract: unique: every job of the key that is inserted before the running one has ended waits for it',
    during(admin, 'retry', noPredecessor),
  ),
  mutant(
    'a job is queued beside the running one that it supersedes',
    'contract: unique: the job that supersedes a running one is queued by the write that ends that one',
    during(inserting, 'insert', noPredecessor),
  ),
  mutant(
    'a job that waits for another one is never queued',
    'contract: unique: a job that waits for another one is part of the backlog, and counts towards the capacity',
    during(settling, 'settle', noSuccessor),
  ),
  mutant(
    'a lease that ends lets no successor go on',
    'contract: unique: the superseding job is queued when the lease of the superseded one runs out',
    during(sweeping, 'rescue', noSuccessor),
  ),
  mutant(
    'a cancel lets nobody go on',
    'contract: succession: the cancel of a retrying job releases the next one',
    during(cancelling, 'cancel', noSuccessor),
  ),
  mutant(
    'a failure inserts no hook',
    'contract: death: the failure that makes a job dead inserts its hook, ready to be claimed',
    during(settling, 'settle', noHook),
  ),
  mutant(
    'a lost lease inserts no hook',
    'contract: death: the lease that runs out on the last attempt inserts the hook, whoever takes it back',
    during(sweeping, 'rescue', noHook),
  ),
  mutant(
    'a job keeps the hook of an earlier claim',
    'contract: death: the last claim says which hook a job has, if any',
    inMethod(units, 'Unit', 'write', (write) => (job, { onDead, ...others }) => {
      write(job, onDead === undefined || job.onDead !== null ? others : { onDead, ...others })
    }),
  ),
  mutant(
    'only one job of an id has a hook',
    'contract: death: the hook has an id of its own also where a removed job of the same id has left one',
    inMethod(units, 'Unit', 'insertMade', (insertMade, unit) => (job, state) => {
      return /\.\d+$/.test(job.id) ? unit.seq : insertMade(job, state)
    }),
  ),
  mutant(
    'a settle that is repeated tells of no hook',
    'contract: death: a fatal failure inserts the hook, and the same settlement again inserts no other',
    inMethod(units, 'Unit', 'keepSettled', (keep) => (job, lease, answer) => {
      const { hook: _, ...others } = answer
      keep(job, lease, others)
    }),
  ),
  mutant(
    'a job that waits for another one forgets its delay',
    'contract: succession: the delay of a replace also applies to a job that waits for another one',
    inMethod(units, 'Unit', 'successor', (successor, { now }) => (job) => {
      const next = successor(job)
      return next && { ...next, dueAt: now }
    }),
  ),
  mutant(
    'a job that is being cancelled keeps new ones away',
    'contract: unique: a job that is being cancelled does not keep others out: a new one is inserted, and waits for its end',
    inFunction(stopNotices, 'isStopping', () => () => false),
  ),
  mutant(
    'a running job is given the input of a duplicate',
    'contract: unique: replace leaves a job that has started as it is',
    inMethod(units, 'Unit', 'hasSameInput', (hasSameInput, unit) => (job, duplicate) => {
      if (isLeased(job.state)) unit.replaceInput(job, duplicate)
      return hasSameInput(job, duplicate)
    }),
  ),
  mutant(
    'a full queue takes one more',
    'contract: watch: room in a full queue sends a room hint of its type',
    oneMore('queue'),
  ),
  mutant(
    'a full store takes one more',
    'contract: unique: a job that waits for another one is part of the backlog, and counts towards the capacity',
    oneMore('store'),
  ),
]

const writes: readonly Mutant[] = [
  mutant(
    'an item that fails is not taken back',
    'files: a settlement that meets damage is taken back',
    notRun('rollBackToSavepoint'),
  ),
  mutant(
    'an item that fails stays in the counts',
    'files: a settlement that meets damage is taken back',
    inMethod(queues, 'Queues', 'endMark', (endMark) => () => endMark(true)),
  ),
  mutant(
    'no item fails alone',
    'contract: failing items: a settlement that cannot be written fails alone',
    inMethod(jobFile, 'JobFile', 'begin', (begin) => (now, stale) => begin(now, stale, false)),
  ),
  mutant(
    'an item that fails leaves a gap in the log',
    'files: a settlement that meets damage is taken back',
    inMethod(jobFile, 'JobFile', 'each', (each, file) => (items, act, failed) => {
      return each(items, act, (error, item) => {
        file.unit.seq++
        return failed(error, item)
      })
    }),
  ),
  mutant(
    'the transitions of one item among others are not logged',
    'files: a settlement that meets damage is taken back',
    inMethod(log, 'LogWriter', 'endMark', (endMark) => () => endMark(false)),
  ),
  mutant(
    'transitions are not logged',
    'contract: machine: a checkpoint is told by the log, and not by the history of the job',
    notRun('append'),
  ),
  mutant(
    'a transition is not counted where it arrives',
    'contract: unique: a job that waits for another one is part of the backlog, and counts towards the capacity',
    inMethod(queues, 'Queues', 'move', (move, all) => (queue, from, to) => {
      if (isLeased(to)) all.count(queue, from, -1)
      else move(queue, from, to)
    }),
  ),
  mutant(
    'a transition is not in the history',
    'contract: machine: a checkpoint is told by the log, and not by the history of the job',
    inFunction(histories, 'withTransition', () => (_row, text) => text),
  ),
  mutant(
    'histories forget who worked before',
    'contract: random sequences agree with the naive model',
    inFunction(histories, 'withWorkers', () => (_row, text) => text),
  ),
  mutant(
    'histories are longer than their cap',
    'contract: settle: the history is capped: the oldest entries are removed',
    inFunction(histories, 'historyOf', (historyOf) => (job, text) => {
      const entries = historyOf(job, text)
      const [first] = entries
      return first === undefined || first.event === 'ENQUEUE' ? entries : [first, ...entries]
    }),
  ),
  mutant(
    'a cancelled job can be claimed',
    'contract: again: a cancelled job can be retried, which removes the reason of its cancel',
    inMethod(statements, 'Statements', 'run', (run) => (name, job = null, queue = null, state = null, ...values) => {
      run(name, job, queue, name === 'writeLife' && state === 'cancelled' ? 'queued' : state, ...values)
    }),
  ),
  mutant(
    'a running job is discarded',
    'contract: random sequences agree with the naive model',
    during(
      admin,
      'discard',
      inFunction(
        lifecycle,
        'isEnded',
        () =>
          (state): state is Extract<typeof state, 'done'> =>
            state !== 'queued',
      ),
    ),
  ),
  mutant(
    'a retry keeps the results of steps',
    'contract: machine again: a retry at the checkpoint keeps the steps, one from the start forgets them',
    during(
      admin,
      'retry',
      inMethod(units, 'Unit', 'forgetSteps', () => () => {}),
    ),
  ),
  mutant(
    'a retried job keeps the time of its end',
    'contract: random sequences agree with the naive model',
    inMethod(units, 'Unit', 'apply', (apply) => (job, arrow, options) => {
      const { ended } = job
      const logged = apply(job, arrow, options)
      if (arrow.event === 'RETRY') job.withRun().ended = ended
      return logged
    }),
  ),
]

/** The sweep looks as if it were so much later. */
const early = (method: 'due' | 'expired', ms: number): Injection =>
  inMethod(rows, 'Rows', method, (found, all) => (limit) => {
    all.now += ms
    try {
      return found(limit)
    } finally {
      all.now -= ms
    }
  })

const sweeps: readonly Mutant[] = [
  mutant(
    'what is not due is promoted',
    'contract: time: due jobs are promoted, earliest first, and never before their due time',
    early('due', 2_500),
  ),
  mutant(
    'leases are taken back before they run out',
    'contract: extend: a heartbeat extends the lease',
    early('expired', 2_500),
  ),
  mutant(
    'leases are taken back however long they last',
    'contract: death: the lease that runs out on the last attempt inserts the hook, whoever takes it back',
    early('expired', 1e12),
  ),
  mutant(
    'a rescue leaves no error',
    'contract: children: a rescue and a cancel that end a child wake its parent, and their answers have the WAKE',
    during(sweeping, 'rescue', writesNot('error', 'errors', 'failure')),
  ),
  mutant(
    'a heartbeat of one job extends the leases of all',
    'contract: extend: a heartbeat extends the leases of the jobs that it names alone, of those that were claimed together',
    inMethod(leases, 'Claims', 'extend', (extend, all) => (_job, until) => {
      for (const job of all.jobs()) extend(job, until)
    }),
  ),
  mutant(
    'a job that gets its old place back stays before the front of its queue',
    'contract: claim: a released job gets its old place back, a retried one goes to the end',
    inMethod(waiting, 'Waiting', 'removeTaken', () => () => {}),
  ),
  mutant(
    'jobs that have just ended are never removed',
    'contract: time: ended jobs beyond the count are removed, oldest first',
    inMethod(ends, 'Ends', 'distribute', () => () => {}),
  ),
  mutant(
    'the newest are pruned',
    'contract: time: ended jobs beyond the count are removed, oldest first',
    inMethod(pruning, 'Pruning', 'firstEnded', (firstEnded) => (type, state, limit) => {
      return firstEnded(type, state, 1_000_000).toReversed().slice(0, limit)
    }),
  ),
  mutant(
    'no job is removed by age',
    'contract: time: ended jobs beyond the age are removed, in the order of their ends',
    inFunction(retention, 'goesAt', (goesAt) => (bounds, kept, endedAt) => {
      return goesAt({ ...bounds, ageMs: Infinity }, kept, endedAt)
    }),
  ),
  mutant(
    'no job is removed by count',
    'contract: time: no job is removed by count before its minimum age, unless there are too many',
    inFunction(retention, 'goesAt', (goesAt) => (bounds, _kept, endedAt) => goesAt(bounds, 0, endedAt)),
  ),
]

/** Counts are written in a transaction of their own, after that of what they count. */
function countsLater(): Injection {
  let later: (() => void) | null = null
  return together(
    inMethod(queues, 'Queues', 'write', (write) => () => void (later = write)),
    inMethod(statements, 'Statements', 'run', (run) => (name, ...values) => {
      run(name, ...values)
      if (name !== 'commit') return
      later?.()
      later = null
    }),
  )
}

const processes: readonly Mutant[] = [
  mutant(
    'what others write is not noticed',
    'shared: unique: a job that is being cancelled does not keep others out: a new one is inserted, and waits for its end',
    inMethod(jobFile, 'JobFile', 'begin', (begin, { seq }) => (now, stale, careful) => {
      begin(now, stale && seq === 0, careful)
    }),
  ),
  mutant(
    'rows of running jobs are believed after others wrote',
    'shared: messages: messages to running jobs are told of, and those that wake make their type ready',
    inMethod(rowCache, 'RowCache', 'clear', () => () => {}),
  ),
  mutant(
    'transitions of others are not counted',
    'shared: claim: if keys are at their concurrency and others at their rate, the reason is the rate, and the end of a run sends a hint',
    inMethod(jobFile, 'JobFile', 'begin', (begin, file) => (now, stale, careful) => {
      const { seq } = file
      begin(now, stale, careful)
      if (seq > 0) file.unit.seq = seq
    }),
  ),
  mutant(
    'queues are believed after others wrote',
    'shared: reading: queues are listed once a job was enqueued or they were paused, also when they are empty',
    inMethod(queues, 'Queues', 'markStale', () => () => {}),
  ),
  mutant(
    'counts are not written',
    'shared: machine counts: a checkpoint that is not written is not counted',
    inMethod(queues, 'Queues', 'write', () => () => {}),
  ),
  mutant(
    'answers are given before the commit',
    'deaths: what is left at any statement is whole, and has what was answered',
    inMethod(statements, 'Statements', 'run', (run) => (name, ...values) => {
      if (name === 'commit') setImmediate(() => run('commit'))
      else run(name, ...values)
    }),
  ),
  mutant(
    'counts are written in a transaction of their own',
    'deaths: what is left at any statement is whole, and has what was answered',
    countsLater(),
  ),
  mutant(
    'each call has a transaction of its own',
    'deaths: what is left at any statement is whole, and has what was answered',
    inMethod(engine, 'Engine', 'run', (run) => (calls, now, enough, careful) => {
      if (calls.length < 2) return run(calls, now, enough, careful)
      const outcomes = calls.map((call) => run([call], now, enough, careful))
      const done = outcomes.filter((outcome) => outcome.kind === 'done')
      return {
        kind: 'done',
        replies: done.flatMap(({ replies }) => replies),
        hints: done.flatMap(({ hints }) => hints),
      }
    }),
  ),
  mutant(
    'what others did is not told',
    'calls: messages that another process sends are told to the one that runs the job, and to no other',
    inFunction(catchingUp, 'catchUp', () => () => {}),
  ),
  mutant(
    'damage is not looked for',
    'files: an index that contradicts its table is refused',
    inFunction(identity, 'pragma', (pragma) => (db, name) => {
      return name.startsWith('integrity_check') ? 'ok' : pragma(db, name)
    }),
  ),
  mutant(
    'what cannot be read is passed over',
    'files: a damaged job is set aside',
    together(
      inFunction(claimed, 'parsed', (parsed) => (text, otherwise) => {
        try {
          return parsed(text, otherwise)
        } catch {
          return otherwise
        }
      }),
      inMethod(cells, 'Packed', 'get', (get) => () => {
        try {
          return get()
        } catch {
          return null
        }
      }),
    ),
  ),
]

const nobodysWake = inFunction(inbox, 'wakeForMessages', () => () => null)
const nobodyNotified = inFunction(inbox, 'notifyParentOfEnd', () => () => null)

const machines: readonly Mutant[] = [
  mutant(
    'a checkpoint needs no token',
    'contract: machine: a checkpoint in the name of an attempt that is over is lost and writes nothing',
    during(checkpointing, 'checkpoint', anybodysLease),
  ),
  mutant(
    'a checkpoint may leave others out',
    'contract: failing items: a checkpoint that does not follow the last one fails alone',
    inFunction(checkpointing, 'checkpoint', (checkpoint) => (unit, request) => {
      const current = unit.find(request.id)?.machine?.checkpoint?.number ?? 0
      const number = Math.min(request.checkpoint.number, current + 1)
      return checkpoint(unit, { ...request, checkpoint: { ...request.checkpoint, number } })
    }),
  ),
  mutant(
    'messages go before they are read',
    'contract: machine again: a retry goes on at the checkpoint, with the messages that are left',
    inFunction(
      checkpointing,
      'checkpoint',
      (checkpoint) => (unit, request) =>
        checkpoint(unit, { ...request, checkpoint: { ...request.checkpoint, read: Number.MAX_SAFE_INTEGER } }),
    ),
  ),
  mutant(
    'attempts that led to a checkpoint count',
    'contract: machine: attempts that came to a checkpoint do not count',
    inSetter(jobRow, 'JobRow', 'checkpointedAttempts', (set) => () => set(0)),
  ),
  mutant(
    'checkpointed attempts are not given back',
    'contract: machine: attempts that came to a checkpoint do not count',
    inSetter(jobRow, 'JobRow', 'checkpointedAttempts', (set) => (attempts) => {
      if (attempts > 0) set(attempts)
    }),
  ),
  mutant(
    'a machine that parks with messages is not woken',
    'contract: messages: a job that parks with messages in its inbox is woken by the same write',
    during(settling, 'settle', nobodysWake),
  ),
  mutant(
    'a settle that is repeated tells of no WAKE',
    'contract: messages: a job that parks with messages in its inbox is woken by the same write',
    inMethod(units, 'Unit', 'keepSettled', (keep) => (job, lease, answer) => {
      const { woken: _, ...others } = answer
      keep(job, lease, others)
    }),
  ),
  mutant(
    'a parent that has ended is written to',
    'contract: children: a child ends like any job if its parent was removed, has ended, or never existed',
    inFunction(inbox, 'notifyParentOfEnd', (notify) => (unit, child) => {
      const woken = notify(unit, child)
      const parent = unit.find(child.machine?.parent?.id ?? '')
      if (parent !== undefined && isEnded(parent.state) && isEnded(child.state)) {
        unit.addMessage(parent, { kind: 'ended', child: child.id, state: 'done' })
      }
      return woken
    }),
  ),
  mutant(
    'no parent hears of a child that died with its worker',
    'contract: children: a rescue and a cancel that end a child wake its parent, and their answers have the WAKE',
    during(sweeping, 'rescue', nobodyNotified),
  ),
  mutant(
    'children outlive a cancel',
    'contract: family cancel: a cancel also cancels the children and their descendants: reported as transitions, not by ids',
    during(
      cancelling,
      'cancel',
      inMethod(rows, 'Rows', 'children', () => () => []),
    ),
  ),
  mutant(
    'each cancel is a message',
    'contract: gentle cancel: a cancel without a reason is a message without one',
    during(
      cancelling,
      'cancel',
      inGetter(jobRow, 'JobRow', 'cancelMark', () => null),
    ),
  ),
  mutant(
    'a cancel that was taken is no cancel',
    'contract: gentle cancel: a machine that completes by handling its cancel is cancelled: CANCEL, then COMPLETE',
    inFunction(
      settling,
      'settle',
      (settle) => (unit, settlement) => settle(unit, { ...settlement, cancelTaken: false }),
    ),
  ),
  mutant(
    'a message sent twice is two',
    'contract: messages: the same key is the same message, also when it has been read since',
    writesNot('messageKeys'),
  ),
  mutant(
    'of a running job two rows are believed',
    'contract: schedules: overlap supersede: a waiting job is cancelled at once; a running one is marked, and the new one waits for its end',
    inMethod(rows, 'Rows', 'from', (from, all) => (values) => {
      const found = from(values)
      all.file.cache.delete(found.id)
      return found
    }),
  ),
  mutant(
    'a key that is held until the start stays taken',
    'contract: succession: the claim of a job frees a key held until the start, and the next job of the key waits for its end',
    during(
      claiming,
      'claimJob',
      inMethod(units, 'Unit', 'giveUpKey', () => () => {}),
    ),
  ),
  mutant(
    'a claim changes the attempts of a job that has fixed them',
    'contract: claim: the pinned settings of a job are part of its claim, and no claim changes pinned attempts',
    inGetter(jobRow, 'JobRow', 'hasPinnedAttempts', () => false),
  ),
  mutant(
    'a replace leaves the delay as it is',
    'contract: succession: replace with a delay restarts the delay of a scheduled job; without one the delay stays',
    during(
      inserting,
      'insert',
      inMethod(units, 'Unit', 'setDue', () => () => {}),
    ),
  ),
  mutant(
    'a retry from the start goes on',
    'contract: machine again: a retry at the checkpoint keeps the steps, one from the start forgets them',
    during(
      admin,
      'retry',
      inMethod(units, 'Unit', 'forgetCheckpoints', () => () => {}),
    ),
  ),
  mutant(
    'checkpoints stay when their job goes',
    'deaths: what is left at any statement is whole, and has what was answered',
    notRun('removeCheckpointsOf'),
  ),
  mutant(
    'messages of others are not told of',
    'calls: messages that another process sends are told to the one that runs the job, and to no other',
    inMethod(inboxWatch, 'InboxWatch', 'catchUp', () => () => {}),
  ),
  mutant(
    'own messages are told of as those of others',
    'calls: messages that another process sends are told to the one that runs the job, and to no other',
    inMethod(inboxWatch, 'InboxWatch', 'finish', () => () => {}),
  ),
]

/** A file that is not for this jobchart is opened, if its refusal says this. */
const opensAnyway = (says: RegExp): Injection =>
  together(
    inFunction(identity, 'checkUntouched', () => () => {}),
    inFunction(identity, 'checkIdentity', (checkIdentity) => (db, path) => {
      try {
        return checkIdentity(db, path)
      } catch (error) {
        if (says.test(String(error))) return { isNew: false }
        throw error
      }
    }),
  )

/** The version of a file is taken for another one when it is opened. */
const versionSeen = (seen: (version: number) => number): Injection =>
  inFunction(identity, 'pragma', (pragma) => (db, name) => {
    const value = pragma(db, name)
    return name === 'user_version' ? seen(Number(value)) : value
  })

/** Figures are not counted, if this is what is counted. */
const notCounted = (isLost: (counted: Counted) => boolean): Injection =>
  inMethod(units, 'Unit', 'count', (count) => (job, counted, ms) => {
    if (!isLost(counted)) count(job, counted, ms)
  })

/** One more, or one fewer, of the dead jobs of a group is not counted. */
const deadNotCounted = (lost: 1 | -1): Injection =>
  inMethod(failureTable, 'FailureTable', 'countDead', (countDead) => (queue, fingerprint, diedAt, by) => {
    if (by !== lost) countDead(queue, fingerprint, diedAt, by)
  })

const figures: readonly Mutant[] = [
  mutant(
    'figures: a claim is not counted',
    'contract: activity: what is not written is not counted',
    during(
      claiming,
      'claimJob',
      notCounted(() => true),
    ),
  ),
  mutant(
    'figures: an attempt whose lease runs out has not failed',
    'deaths: what is left at any statement is whole, and has what was answered',
    during(
      sweeping,
      'rescue',
      notCounted(({ fails }) => fails),
    ),
  ),
  mutant(
    'figures: a failure is in no group',
    'contract: failures: a dead job leaves its group when it is retried, discarded or pruned',
    inMethod(units, 'Unit', 'countFailure', () => () => {}),
  ),
  mutant(
    'figures: an enqueue is not counted',
    'contract: activity: what is not written is not counted',
    inMethod(queues, 'Queues', 'countActivity', (countActivity) => (queue, counted, ms, now) => {
      if (counted.figure !== enqueueCounted.figure) countActivity(queue, counted, ms, now)
    }),
  ),
  mutant(
    'figures: a minute that ends is lost',
    'contract: activity: every transition is counted in the minute and the hour of its time',
    notRun('addActivity'),
  ),
  mutant(
    'figures: an item that fails is counted',
    'files: a settlement that meets damage is taken back',
    inMethod(queues, 'Queues', 'endMark', (endMark, all) => (stays) => {
      const minutes = new Map(all.all().map((queue) => [queue, [...queue.minute]]))
      endMark(stays)
      for (const [queue, minute] of minutes) queue.minute = minute
    }),
  ),
  mutant(
    'figures: a job that dies is not one of its group',
    'contract: failures: a dead job leaves its group when it is retried, discarded or pruned',
    deadNotCounted(1),
  ),
  mutant(
    'figures: a removed job stays one of its group',
    'contract: failures: a dead job leaves its group when it is retried, discarded or pruned',
    deadNotCounted(-1),
  ),
  mutant(
    'figures: groups of failures are kept for ever',
    'contract: failures: of each type a hundred groups are kept, those that have occurred last',
    notRun('forgetFailures'),
  ),
  mutant(
    'figures: a machine that ends is counted by its states for ever',
    'contract: machine counts: a job that ends is no longer counted, and one that is retried is counted again',
    inMethod(machineRows, 'Machines', 'count', (count) => (job, was) => {
      if (!isEnded(job.state)) count(job, was)
    }),
  ),
]

/** The room for hand-overs is that of other workers. */
const withWorkers = (change: (slots: WorkerSlots) => Partial<WorkerSlots>): Injection =>
  inFunction(handOver, 'handOverRoom', (handOverRoom) => (type, workers, queueOf) => {
    const changed = [...workers].map((slots) => ({ ...slots, ...change(slots) }))
    return handOverRoom(type, changed, queueOf)
  })

/** The room for hand-overs is that of other queues. */
const withQueues = (change: { readonly queued?: 0; readonly paused?: false }): Injection =>
  inFunction(handOver, 'handOverRoom', (handOverRoom) => (type, workers, queueOf) => {
    return handOverRoom(type, workers, (each) => {
      const load = queueOf(each)
      if (load === undefined) return undefined
      const { paused, queued, leasedCount } = load
      return { paused, queued, leasedCount, ...change }
    })
  })

const handOvers: readonly Mutant[] = [
  mutant(
    'the slots of a lost worker are free',
    'contract: hand-over: the slots of a lost worker are not free, and those of its leases become free by their rescue',
    during(
      handOver,
      'handOverRoom',
      inFunction(workers, 'isLost', () => () => false),
    ),
  ),
  mutant(
    'the slots of a paused worker are free',
    'contract: hand-over: there is no free slot in a paused worker or for a paused queue',
    withWorkers(({ info }) => {
      const { paused: _, ...others } = info
      return { info: others }
    }),
  ),
  mutant(
    'leases take no slot',
    'contract: hand-over: a leased job occupies the slot of its worker until its end',
    withWorkers(() => ({ leasedCount: 0 })),
  ),
  mutant(
    'queued jobs do not go first',
    'contract: hand-over: queued jobs of other types of the workers have the first claim on free slots',
    withQueues({ queued: 0 }),
  ),
  mutant(
    'a hand-over ignores the concurrency of its type',
    'contract: hand-over: the concurrency limit of its type is kept',
    withWorkers(({ info }) => ({ info: { ...info, limits: {} } })),
  ),
  mutant(
    'a paused queue takes hand-overs',
    'contract: hand-over: there is no free slot in a paused worker or for a paused queue',
    withQueues({ paused: false }),
  ),
]

const trouble: readonly Mutant[] = [
  mutant(
    'a commit that fails is acknowledged',
    'contract: failing items: a checkpoint that does not follow the last one fails alone',
    (() => {
      let commits = 0
      return inMethod(statements, 'Statements', 'run', (run) => (name, ...values) => {
        if (name === 'commit' && ++commits % 3 === 0) run('rollback')
        else run(name, ...values)
      })
    })(),
  ),
  mutant(
    'what is asked while it closes is never answered',
    'calls: what is asked once it closes is refused',
    inMethod(callQueue, 'CallQueue', 'ask', (ask) => async (method, ...args) => {
      return ask(method, ...args).catch(() => new Promise<never>(() => {}))
    }),
  ),
  mutant(
    'a failed look for writes of others throws',
    'calls: a look at what others do that fails harms nobody, and the next one tells',
    inMethod(engine, 'Engine', 'poll', (poll) => (now) => {
      const hints = poll(now)
      if (hints === null) throw new Error('the look has failed')
      return hints
    }),
  ),
  mutant(
    'a newer file is opened',
    'files: a file of a newer version is refused',
    together(
      opensAnyway(/newer/),
      versionSeen((version) => Math.min(version, fileVersion)),
    ),
  ),
  mutant(
    'a file of another program is taken',
    'files: a file of another program is refused',
    opensAnyway(/another program/),
  ),
  mutant(
    'a file on a network is opened',
    'files: a file on a network filesystem is refused',
    inFunction(identity, 'checkPath', (checkPath) => (path) => {
      try {
        checkPath(path)
      } catch (error) {
        if (!String(error).includes('WAL mode must be on a disk')) throw error
      }
    }),
  ),
]

/** Of all mutants the short form tries one in so many. */
export const shortEvery = 4

export const mutants: readonly Mutant[] = [
  ...tokens,
  ...schedules,
  ...bulkOperations,
  ...claims,
  ...keys,
  ...writes,
  ...sweeps,
  ...processes,
  ...machines,
  ...figures,
  ...handOvers,
  ...trouble,
  ...unitMutants,
  ...remoteMutants,
]
