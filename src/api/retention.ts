/** Options of retention: what a runtime and its definitions say of how long ended jobs are kept. */
import { integer, object, table, type Rule, type RulesOf } from '../core/checks.ts'
import type { JobDefinition, OwnRetention } from '../core/definition.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import type { EndedState } from '../core/prune.ts'
import type { RetentionBounds } from '../core/retention.ts'
import type { RetentionPolicies, RetentionPolicy, StoreCapabilities } from '../store.ts'

/** How long the ended jobs of a type are kept that are in one state. */
export interface RetentionOptions {
  /**
   * Jobs are kept this long after their end, one minute at least. Default: done and cancelled jobs one day, dead jobs
   * 30 days.
   */
  readonly age?: Duration
  /**
   * Limit of ended jobs of a type. Of more, those that ended a minute ago or earlier are removed. 0…1,000,000,000.
   * Default 10,000; in a runtime with more than 100 types 1,000,000 divided by their number.
   */
  readonly count?: number
}

/** How long ended jobs are kept, by their state. */
export interface StatesRetention {
  readonly done?: RetentionOptions
  readonly dead?: RetentionOptions
  readonly cancelled?: RetentionOptions
}

const defaultAges: Readonly<Record<EndedState, Duration>> = { done: '1d', dead: '30d', cancelled: '1d' }

type Bounds = NonNullable<OwnRetention[EndedState]>

const boundsOptions = object({
  age: durationMs,
  count: integer(0, limits.capacityMax),
} satisfies RulesOf<RetentionOptions>)

const bounds: Rule<Bounds> = (value, name) => {
  const { age, ...count } = boundsOptions(value, name)
  return { ...count, ...(age !== undefined && { ageMs: Math.max(age, limits.retentionAgeMin) }) }
}

/** The option `retention` of a definition and of a runtime. */
export const retentionOption = table(
  { done: bounds, dead: bounds, cancelled: bounds } satisfies RulesOf<StatesRetention>,
  { nameOf: (state, name) => `${name}, ${state}` },
)

/**
 * What a definition says of its retention. `keepDead` is the count of dead jobs, without the minimum age.
 * @throws JobchartError INVALID_OPTION
 */
export function ownRetention(
  own: OwnRetention,
  keepDead: number | undefined,
  of: (option: string) => string,
): OwnRetention {
  if (keepDead === undefined) return own
  if (own.dead?.count !== undefined) {
    const hint =
      'Both say how many dead jobs of the type are kept; `keepDead` removes the others without the minimum age.'
    throw invalidOption(of('keepDead'), 'no keepDead beside retention.dead.count', keepDead, hint)
  }
  return { ...own, dead: { ...own.dead, count: keepDead, soon: true } }
}

/** The policies of a runtime: of each of its types, and of types that no runtime has. */
export function retentionPolicies(
  general: OwnRetention,
  jobs: ReadonlyMap<string, JobDefinition>,
  { durable, shared }: Pick<StoreCapabilities, 'durable' | 'shared'>,
): RetentionPolicies {
  const countDefault = Math.min(limits.retentionCount, Math.floor(limits.retentionCountTotal / Math.max(1, jobs.size)))
  const boundsOf = (state: EndedState, own: Bounds): RetentionBounds => {
    const { ageMs = durationMs(defaultAges[state], 'age'), count = countDefault, soon } = { ...general[state], ...own }
    const minAgeMs = soon ? limits.keepDeadAgeMin[shared ? 'shared' : 'alone'] : limits.retentionAgeMin
    return { ageMs, count, minAgeMs, countMax: count + limits.retentionSurplusMax[durable ? 'durable' : 'memory'] }
  }
  const policyOf = ({ done = {}, dead = {}, cancelled = {} }: OwnRetention): RetentionPolicy => ({
    done: boundsOf('done', done),
    dead: boundsOf('dead', dead),
    cancelled: boundsOf('cancelled', cancelled),
  })
  return {
    types: new Map([...jobs.values()].map(({ type, retention }) => [type, policyOf(retention)])),
    others: policyOf({}),
  }
}
