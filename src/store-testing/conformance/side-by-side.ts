/** Runs one sequence of commands against a store and the naive store side by side, and reports where they differ. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { JobRecord, Transition } from '../../core/record.ts'
import { allArrows, jobStates, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type {
  CheckpointAnswer,
  CheckpointRequest,
  ListQuery,
  PruneAnswer,
  Store,
  StoredHeat,
  TransitionEntry,
  TransitionPage,
  WorkerInfo,
} from '../../store.ts'
import { countsItsLog } from '../activity-of-log.ts'
import { NaiveBulk } from '../naive-bulk.ts'
import type { BulkCommand, Command, ScheduleCommand } from './commands.ts'
import { normaliser } from './compare.ts'
import { Requests } from './requests.ts'
import { ScheduleRequests } from './schedule-requests.ts'
import type { Subject } from './subject.ts'

interface Exchange {
  readonly command: Command | 'at the end'
  readonly expected: unknown
  readonly actual: unknown
}

const host: Omit<WorkerInfo, 'id' | 'slots' | 'types'> = {
  name: 'conformance',
  host: 'localhost',
  pid: 1,
  version: '1',
  definitions: {},
  events: {},
  limits: {},
  leaseMs: 30_000,
  startedAt: 0,
}

export class SideBySide {
  private readonly store: Store
  private readonly advance: Subject['advance']
  private readonly model = new NaiveBulk()
  private readonly start: number
  private readonly exchanges: Exchange[] = []
  private readonly requests: Requests
  private readonly schedules: ScheduleRequests
  private tokens = 0

  constructor({ store, advance }: Omit<Subject, 'close'>) {
    this.store = store
    this.advance = advance
    this.start = this.model.time = store.now()
    this.requests = new Requests(this.model)
    this.schedules = new ScheduleRequests(this.model, this.start)
  }

  async run(command: Command): Promise<void> {
    const [expected, actual] = await this.ask(command)
    this.exchanges.push({ command, expected, actual })
  }

  /** Compares every answer, then the contents of the stores. @param unitMs how much their clocks may differ */
  async verdict(unitMs: number): Promise<void> {
    const log = await this.log()
    const expected = normaliser(this.model.transitions(), { at: this.start, unitMs })
    const actual = normaliser(log, { at: this.start, unitMs })
    this.exchanges.push(await this.remains(log))
    for (const [i, exchange] of this.exchanges.entries()) {
      const what = typeof exchange.command === 'string' ? exchange.command : inspect(exchange.command, { depth: 9 })
      assert.deepEqual(actual(exchange.actual), expected(exchange.expected), `command ${i}: ${what}`)
    }
    obeysTheChart(log)
  }

  private async ask(command: Command): Promise<[expected: unknown, actual: unknown]> {
    const { store, model } = this
    switch (command.op) {
      case 'insert': {
        const [ours, theirs] = [this.requests.insert(command.requests), this.requests.insert(command.requests)]
        return [model.insert(ours), await store.insert(theirs)]
      }
      case 'claim':
        return this.claim(command.request)
      case 'settle': {
        const settlements = command.endings.flatMap((ending) => this.requests.settlement(ending) ?? [])
        return [model.settle(settlements), await store.settle(structuredClone(settlements))]
      }
      case 'extend': {
        const heartbeats = command.heartbeatPicks.flatMap(
          (heartbeatPick) => this.requests.heartbeat(heartbeatPick) ?? [],
        )
        const request = { worker: command.worker, leaseMs: command.leaseMs, heartbeats }
        // `confirm` is optional, and is called before the heartbeat of the same runs.
        const standings = model.confirm(heartbeats)
        const told = store.confirm === undefined ? standings : store.confirm(structuredClone(heartbeats))
        return [
          [standings, model.extend(request)],
          [told, await store.extend(structuredClone(request))],
        ]
      }
      case 'cancel':
        return [model.cancel(command.requests), await store.cancel(command.requests)]
      case 'checkpoint': {
        const requests = command.checkpointPicks
          .flatMap((picked) => this.requests.checkpoint(picked) ?? [])
          .filter(isFirst)
        const told = await store.checkpoint(structuredClone(requests))
        return [model.checkpoint(requests).map(unlessLost), told.map(unlessLost)]
      }
      case 'send': {
        const requests = command.messagePicks.map((messagePick) => this.requests.message(messagePick))
        return [model.send(requests), await store.send(structuredClone(requests))]
      }
      case 'retry': {
        const { ids, fromStart, dropInbox, edit } = command
        const answer = model.retry(ids, fromStart, dropInbox, structuredClone(edit))
        return [answer, await store.retry(ids, fromStart, dropInbox, structuredClone(edit))]
      }
      case 'discard':
        return [model.discard(command.ids), await store.discard(command.ids)]
      case 'promote':
        return [model.promote(command.limit), await store.promote(command.limit)]
      case 'rescue':
        return [model.rescue(command.limit), await store.rescue(command.limit)]
      case 'prune':
        return this.prune(command)
      case 'queue':
        return [model.queue(command.type, command.change), await store.queue(command.type, command.change)]
      case 'putSchedule':
      case 'fireSchedule':
      case 'pauseSchedule':
      case 'removeSchedule':
      case 'dueSchedules':
        return this.schedule(command)
      case 'startBulk':
      case 'advanceBulk':
      case 'stopBulk':
        return this.bulk(command)
      case 'worker': {
        const info = command.info === null ? null : { ...host, ...command.info, id: command.id }
        return [model.worker(command.id, info), await store.worker(command.id, info)]
      }
      case 'get':
        return [model.get(command.ids), await store.get(command.ids)]
      case 'list':
        return [model.list(command.query), await everyPage(store, command.query, command.limit)]
      case 'advance':
        model.time += command.ms
        return [undefined, await this.advance(command.ms)]
    }
  }

  /** Which type goes first is left to the store, so each prunes until nothing is left to remove. */
  private async prune({ policies, limit }: Extract<Command, { op: 'prune' }>): Promise<[unknown, unknown]> {
    const { store, model } = this
    model.retain(policies)
    await store.retain(policies)
    const all = async (prune: () => PruneAnswer | Promise<PruneAnswer>): Promise<unknown> => {
      for (let pruned = 0; ;) {
        const answer = await prune()
        assert.ok(answer.pruned <= limit && (!answer.more || answer.nextAt === null), inspect(answer))
        pruned += answer.pruned
        if (!answer.more) return { pruned, nextAt: answer.nextAt }
      }
    }
    return [await all(() => model.prune(limit)), await all(() => store.prune(limit))]
  }

  private async schedule(command: ScheduleCommand): Promise<[expected: unknown, actual: unknown]> {
    const { store, model } = this
    switch (command.op) {
      case 'putSchedule': {
        const requests = [this.schedules.put(command)]
        return [model.putSchedules(requests), await store.schedules.put(structuredClone(requests))]
      }
      case 'fireSchedule': {
        const requests = [this.schedules.fire(command)]
        return [model.fireSchedules(structuredClone(requests)), await store.schedules.fire(requests)]
      }
      case 'pauseSchedule': {
        const request = this.schedules.pause(command)
        return [model.pauseSchedule(request), await store.schedules.pause(request)]
      }
      case 'removeSchedule':
        return [model.removeSchedules(command.names), await store.schedules.remove(command.names)]
      case 'dueSchedules':
        return [model.dueSchedules(command), await store.schedules.due(command)]
    }
  }

  private async bulk(command: BulkCommand): Promise<[expected: unknown, actual: unknown]> {
    const { model } = this
    const { bulk } = this.store
    switch (command.op) {
      case 'startBulk':
        return [model.startBulk(command.request), await bulk.start(command.request)]
      case 'advanceBulk':
        return [model.advanceBulk(command.request), await bulk.advance(command.request)]
      case 'stopBulk':
        return [model.stopBulk(command.request), await bulk.stop(command.request)]
    }
  }

  private async claim(fields: (Command & { op: 'claim' })['request']): Promise<[unknown, unknown]> {
    const request = { ...fields, token: `token ${++this.tokens}` }
    const expected = this.model.claim(request)
    const actual = await this.store.claim(request)
    this.requests.attempts.push(...expected.jobs)
    const records = this.model.get(expected.jobs.map(({ id }) => id))
    const whole = actual.jobs.map((job) => {
      const {
        id,
        type,
        input,
        priority,
        concurrencyKey,
        attempt,
        maxAttempts,
        generation,
        token,
        startedAt,
        seq,
        steps,
      } = job
      const told = {
        id,
        type,
        input,
        priority,
        concurrencyKey,
        attempt,
        maxAttempts,
        generation,
        token,
        startedAt,
        seq,
        steps,
      }
      const { checkpoint, inbox, version, meta, pins } = job
      return { ...told, checkpoint, inbox, version, meta, pins, record: job.record() }
    })
    return [
      { jobs: expected.jobs.map((job, i) => ({ ...job, record: records[i] })), shortfalls: expected.shortfalls },
      { jobs: whole, shortfalls: actual.shortfalls },
    ]
  }

  private async log(): Promise<Transition[]> {
    const log: Transition[] = []
    for (let from: string | null = null, more = true; more;) {
      const page: TransitionPage = await this.store.transitions(from, 50)
      assert.equal(page.lost, false, 'the log lost entries')
      log.push(...page.transitions.map(withoutCursor))
      more = page.transitions.length > 0
      from = page.next
    }
    return log
  }

  /** Compares the contents of the stores, and their counts with their contents. */
  private async remains(log: readonly Transition[]): Promise<Exchange> {
    const jobs = await everyPage(this.store, {}, 100)
    const counts = await this.store.counts()
    const { types, ...states } = counts
    assert.deepEqual({ ...states }, recount(jobs), 'counts of all types')
    for (const type of new Set([...Object.keys(types), ...jobs.map((job) => job.type)])) {
      const ofType = jobs.filter((job) => job.type === type)
      assert.deepEqual({ ...types[type] }, recount(ofType), `counts of ${type}`)
    }
    await countsItsLog(this.store, log)
    const resting = jobs.filter(({ checkpoint }) => checkpoint !== null).map(({ id }) => id)
    const { model, store } = this
    const ownTypes = [...new Set(jobs.map(({ type }) => type))]
    const checkpoints = await Promise.all(resting.map((id) => store.checkpoints(id)))
    return {
      command: 'at the end',
      expected: {
        jobs: model.list({}),
        checkpoints: resting.map((id) => model.checkpoints(id)),
        workers: model.workers(),
        schedules: model.listSchedules(),
        bulk: model.listBulk(),
        log: model.transitions(),
        failures: model.failures(),
        machineCounts: ownTypes.map((type) => model.machineCounts(type)),
        heat: ownTypes.flatMap((type) => heatPeriods.map((period) => byName(model.heat({ type, period })))),
      },
      actual: {
        jobs,
        checkpoints,
        workers: await store.workers(),
        schedules: await store.schedules.list(),
        bulk: await store.bulk.list(),
        log,
        failures: await store.failures({ limit: 1_000 }),
        machineCounts: await Promise.all(ownTypes.map((type) => store.machineCounts(type))),
        heat: await Promise.all(
          ownTypes.flatMap((type) => heatPeriods.map(async (period) => byName(await store.heat({ type, period })))),
        ),
      },
    }
  }
}

/** Removes cursors: each store has its own. */
export function withoutCursor(entry: TransitionEntry): Transition {
  const transition: Transition & { cursor?: string } = { ...entry }
  delete transition.cursor
  return transition
}

const heatPeriods = ['hour', 'day', 'week'] as const

const byName = ({ from, counts }: StoredHeat): StoredHeat => ({
  from,
  counts: counts.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
})

const isFirst = ({ id }: CheckpointRequest, i: number, all: readonly CheckpointRequest[]): boolean =>
  all.findIndex((request) => request.id === id) === i

/** Keeps only the outcome of a lost item: its other fields have no meaning. */
const unlessLost = (answer: CheckpointAnswer): unknown => (answer.outcome === 'lost' ? 'lost' : answer)

export async function everyPage(store: Store, filter: ListQuery, limit: number): Promise<JobRecord[]> {
  const jobs: JobRecord[] = []
  let after: string | undefined
  do {
    const page = await store.list({ ...filter, limit, ...(after !== undefined && { after }) })
    assert.ok(page.length <= limit, 'a page is longer than its limit')
    jobs.push(...page)
    after = page.next
  } while (after !== undefined)
  return jobs
}

const recount = (jobs: readonly JobRecord[]): Record<JobState, number> =>
  Object.fromEntries(jobStates.map((state) => [state, jobs.filter((job) => job.state === state).length])) as Record<
    JobState,
    number
  >

/** Is every stored transition an arrow of the chart, and does it start where the one before it led? */
export function obeysTheChart(log: readonly Transition[]): void {
  const where = new Map<string, JobState>()
  let last = 0
  for (const transition of log) {
    const { seq, id, event, from, to } = transition
    const told = `${event} of ${id} from ${from} to ${to} (${seq})`
    assert.ok(seq > last, `${told}: numbers grow`)
    if (event === 'CHECKPOINT') {
      assert.ok(from === to && from === where.get(id) && statesTagged('leased').has(to), `${told}: not in a run`)
    } else if (event === 'ENQUEUE') assert.ok(from === null && statesTagged('birth').has(to), `${told}: not a birth`)
    else {
      const arrow = allArrows.find((each) => each.event === event && each.from === from && each.to === to)
      assert.ok(arrow !== undefined, `${told}: not an arrow of the chart`)
      assert.equal(from, where.get(id), `${told}: it was elsewhere`)
    }
    where.set(id, to)
    last = seq
  }
}
