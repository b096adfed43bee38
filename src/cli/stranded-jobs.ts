/** Jobs of a store that the machines of a module cannot continue, grouped by their state. */
import { isEnded, jobStates } from '../core/lifecycle.ts'
import { reindexRequest } from '../core/reindex.ts'
import type { ReindexRequest } from '../core/machine-values.ts'
import { JobchartError } from '../core/errors.ts'
import { ownValue } from '../core/own-value.ts'
import { innermost } from '../core/state-paths.ts'
import type { Client, JobDefinition } from '../index.ts'
import { createClient } from '../index.ts'
import { errorFields } from './errors.ts'

export interface Stranded {
  readonly type: string
  /** The version that wrote their checkpoint, or that they were enqueued with. */
  readonly version: string
  /** The version that the module would run them with. */
  readonly currentVersion: string
  /** The innermost states of the machine; empty if it has not started. */
  readonly states: readonly string[]
  readonly count: number
  readonly reason: string
  readonly hint: string | null
  /** The first five. */
  readonly ids: readonly string[]
}

const examplesMax = 5
const live = jobStates.filter((state) => !isEnded(state))

/** Parked jobs by what the store says of them: whether it was changed, or is to be. */
export interface Reindexed {
  /** They are found by other states, or can go on again. */
  readonly found: number
  /** They are recorded as unsupported. */
  readonly unsupported: number
}

interface CheckedStore {
  readonly stranded: readonly Stranded[]
  readonly reindexed: Reindexed
  /** Types with live jobs that the definitions do not have. */
  readonly otherTypes: readonly string[]
}

/**
 * Checks for each job whether its machine can continue it, as a worker does after a claim. No job is run.
 * @param migrate write what was found: the states by which parked jobs are listed, and which of them are unsupported
 * @throws JobchartError NOT_ACCEPTED if it is to be written, and workers of another version are at work
 */
export async function strandedJobs(
  client: Client,
  definitions: readonly JobDefinition[],
  migrate: boolean,
): Promise<CheckedStore> {
  // Several versions of a machine are one runner in the list of a client.
  const { jobs } = createClient({ jobs: definitions })
  if (migrate) await mustBeAlone(client, jobs)
  const groups = new Map<string, Stranded & { readonly ids: string[] }>()
  const reindexed = { found: 0, unsupported: 0 }
  for (const { type, machine } of jobs.values()) {
    if (machine === null) continue
    let after: string | undefined
    do {
      const page = await client.list({
        type,
        state: live,
        limit: 250,
        fields: [
          'id',
          'state',
          'checkpoint',
          'version',
          'input',
          'machineStates',
          'machineTags',
          'takesCancel',
          'unsupported',
          'inbox',
          'deferred',
        ],
        ...(after !== undefined && { after }),
      })
      const requests: ReindexRequest[] = []
      for (const job of page) {
        const isParked = job.state === 'waiting' && job.checkpoint !== null
        const answer = isParked ? machine.assess(job) : machine.prepare(job)
        if (typeof answer === 'function') continue
        const request = isParked ? reindexRequest(job, answer) : null
        if (request !== null) requests.push(request)
        if (answer.kind !== 'unsupported') continue
        const states = innermost(job.machineStates)
        const key = JSON.stringify([type, answer.version, states, answer.reason])
        const hint = errorFields(answer.error).hint ?? null
        const { version, reason } = answer
        const group = groups.get(key) ?? {
          type,
          version,
          currentVersion: machine.version,
          states,
          count: 0,
          reason,
          hint,
          ids: [],
        }
        if (group.ids.length < examplesMax) group.ids.push(job.id)
        groups.set(key, { ...group, count: group.count + 1 })
      }
      for (const { unsupported } of await written(client, requests, migrate)) {
        reindexed[unsupported === null ? 'found' : 'unsupported']++
      }
      after = page.next
    } while (after !== undefined)
  }
  const { types } = await client.counts()
  const otherTypes = Object.keys(types).filter((type) => !jobs.has(type) && live.some((state) => types[type]?.[state]))
  return { stranded: [...groups.values()].toSorted((a, b) => b.count - a.count), reindexed, otherTypes }
}

/**
 * Workers of another version go on with its jobs, and would be shown under states that they do not have.
 * @throws JobchartError NOT_ACCEPTED
 */
async function mustBeAlone(client: Client, jobs: ReadonlyMap<string, JobDefinition>): Promise<void> {
  const workers = (await client.workers({ inputs: false })).filter(({ lost }) => !lost)
  for (const { type, machine } of jobs.values()) {
    if (machine === null) continue
    const others = workers.filter(({ types, definitions }) => {
      return types.includes(type) && ownValue(definitions, type) !== machine.definitions
    })
    if (others.length === 0) continue
    const names = others.map(({ name }) => name).join(', ')
    throw new JobchartError('NOT_ACCEPTED', `${names}: still at work with another machine of ${type}`, {
      hint: 'Stop these workers first, or let the new ones do it: the last one at work does, within about a minute.',
    })
  }
}

/** Those requests that have changed a job; all, if nothing is to be written. */
async function written(
  { store }: Client,
  requests: readonly ReindexRequest[],
  migrate: boolean,
): Promise<readonly ReindexRequest[]> {
  if (!migrate || requests.length === 0) return requests
  const answers = await store.reindex(requests)
  return requests.filter((_, i) => answers[i]?.outcome === 'kept')
}
