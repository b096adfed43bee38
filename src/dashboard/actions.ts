/** Changes through the dashboard; each one is reported to `onAudit`, also one that is refused because of the role. */
import type { Context } from 'hono'
import { JobchartError } from '../core/errors.ts'
import type { SendOptions } from '../core/call-options.ts'
import type { BulkChange } from '../store.ts'
import { json } from './answers.ts'
import { isKnownType } from '../core/figures.ts'
import { readBody, type JsonObject } from './body.ts'
import { shownOperation, startOperation } from './bulk.ts'
import type { AuditEntry, DashboardSettings } from './options.ts'
import { cancelOptionsIn, checkOptions, retryOptionsIn, selectorIn } from './queries.ts'
import { checkFilter } from './redaction.ts'
import { RefusedError } from './refused-error.ts'
import type { RouteEnv } from './access.ts'

type Action = AuditEntry['action']

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

function onJobs(
  { client }: DashboardSettings,
  action: BulkChange['kind'],
  jobs: readonly string[],
  body: JsonObject,
): Promise<object> {
  checkOptions(action, body)
  if (action === 'cancel') return client.cancel(jobs, cancelOptionsIn(body))
  if (action === 'discard') return client.discard(jobs)
  return client.retry(jobs, retryOptionsIn(body))
}

/**
 * Retries, cancels or discards the jobs that the body names: `{ ids }`, with their report, or `{ filter }`, as a bulk
 * operation, which the answer does not wait for.
 */
export async function changeJobs(
  settings: DashboardSettings,
  action: BulkChange['kind'],
  c: Context<RouteEnv>,
): Promise<Response> {
  const body = await readBody(c.req.raw, c.env.peer)
  const { ids, filter } = selectorIn(body)
  if (ids !== null) return audited(settings, c, action, ids, () => onJobs(settings, action, ids, body))
  return audited(settings, c, action, filter, () => {
    checkFilter(settings.redact, filter, settings.client.jobs.keys())
    return startOperation(settings, action, filter, body)
  })
}

/** The same for one job. @throws JobchartError NOT_FOUND, NOT_ACCEPTED */
export async function changeJob(
  settings: DashboardSettings,
  action: BulkChange['kind'],
  id: string,
  c: Context<RouteEnv>,
): Promise<Response> {
  const body = await readBody(c.req.raw, c.env.peer)
  return audited(settings, c, action, id, async () => {
    const report = (await onJobs(settings, action, [id], body)) as Partial<Record<string, readonly string[]>>
    if (report['notFound']?.includes(id)) {
      throw new JobchartError('NOT_FOUND', `job ${id} is not in the store`, { hint: 'It was pruned or discarded.' })
    }
    if ([...(report['refused'] ?? []), ...(report['finished'] ?? [])].includes(id)) {
      throw new JobchartError('NOT_ACCEPTED', `job ${id} cannot be changed so in its present state`, {
        hint: 'Look at it again: its state has changed, or another job holds its unique key.',
      })
    }
    return report
  })
}

export async function sendEvent(settings: DashboardSettings, id: string, c: Context<RouteEnv>): Promise<Response> {
  const body = await readBody(c.req.raw, c.env.peer)
  const { event } = body
  if (typeof event !== 'object' || event === null || !('type' in event) || typeof event.type !== 'string') {
    throw new JobchartError('INVALID_INPUT', 'expected an event with a type', {
      hint: 'For example { "event": { "type": "APPROVE" } }.',
    })
  }
  const key = text(body['key'])
  const accept = text(body['accept'])
  const keep = text(body['keep'])
  const { type } = event
  return audited(settings, c, 'send', id, async () => {
    const options = {
      ...(key !== undefined && { key }),
      ...(accept !== undefined && { accept }),
      ...(keep !== undefined && { keep }),
    }
    // The client checks the options.
    await settings.client.send(id, { ...event, type }, options as SendOptions)
    return { sent: type }
  })
}

/** Enqueues a job that goes on from a checkpoint of this one. @throws JobchartError as `client.fork` */
export async function forkJob(settings: DashboardSettings, id: string, c: Context<RouteEnv>): Promise<Response> {
  const body = await readBody(c.req.raw, c.env.peer)
  const { seq } = body
  if (typeof seq !== 'number' || !Number.isSafeInteger(seq)) {
    throw new JobchartError('INVALID_INPUT', 'expected the seq of a checkpoint', {
      hint: 'For example { "seq": 4711 }: GET api/v1/jobs/:id lists its checkpoints.',
    })
  }
  const own = text(body['id'])
  return audited(settings, c, 'fork', id, async () => {
    const { id: job } = await settings.client.fork(id, seq, own === undefined ? {} : { id: own })
    return { forked: id, seq, job }
  })
}

/** A queue may be paused before its first job: the answer says whether its type is known. */
export async function changeQueue(
  settings: DashboardSettings,
  action: 'pause' | 'resume',
  type: string,
  c: Context<RouteEnv>,
): Promise<Response> {
  const { client } = settings
  return audited(settings, c, action, type, async () => {
    const queue = client.queue(type)
    await queue[action]()
    const { paused, counts } = await queue.stats()
    return { type, paused, known: isKnownType(client.jobs, type, counts) }
  })
}

/** Pauses, resumes or fires a schedule. @throws JobchartError NOT_FOUND, NOT_ACCEPTED */
export async function changeSchedule(
  settings: DashboardSettings,
  action: 'pause' | 'resume' | 'trigger',
  name: string,
  c: Context<RouteEnv>,
): Promise<Response> {
  return audited(settings, c, action, { schedule: name }, async () => {
    const schedule = await settings.client.getSchedule(name)
    if (schedule === null) {
      throw new JobchartError('NOT_FOUND', `schedule ${name} is not in the store`, { hint: 'It was removed.' })
    }
    if (action !== 'trigger') {
      await schedule[action]()
      return { schedule: name, paused: action === 'pause' }
    }
    const { id } = await schedule.trigger()
    return { schedule: name, job: id }
  })
}

/** Tells groups of failures as one, or takes them apart. @throws JobchartError INVALID_OPTION, INVALID_INPUT */
export async function changeFailures(
  settings: DashboardSettings,
  action: 'merge' | 'split',
  c: Context<RouteEnv>,
): Promise<Response> {
  const { client } = settings
  const { type, fingerprints } = await readBody(c.req.raw, c.env.peer)
  return audited(settings, c, action, { type, fingerprints }, async () => {
    // The client checks them.
    const [of, all] = [type as string, fingerprints as readonly string[]]
    await (action === 'merge' ? client.mergeFailures(of, all) : client.splitFailures(of, all))
    return { type, fingerprints }
  })
}

/** @throws JobchartError NOT_FOUND */
export async function stopBulk(settings: DashboardSettings, id: string, c: Context<RouteEnv>): Promise<Response> {
  return audited(settings, c, 'stop', { bulk: id }, async () => {
    return { operation: shownOperation(settings, await settings.client.bulk.stop(id)) }
  })
}

async function audited(
  { client, audit }: DashboardSettings,
  c: Context<RouteEnv>,
  action: Action,
  target: unknown,
  change: () => Promise<object>,
): Promise<Response> {
  const record = (outcome: unknown): unknown =>
    audit({ at: client.store.now(), action, target, outcome, request: c.req.raw })
  let report: object
  try {
    if (c.env.role === 'read') throw new RefusedError(403, 'READ_ONLY', 'Your role allows reading only.')
    report = await change()
  } catch (error) {
    await record(error)
    throw error
  }
  await record(report)
  return json(report)
}
