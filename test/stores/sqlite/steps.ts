/** Steps of the script: what is asked in one turn, and what each kind of step says of itself. */
import type { Settlement } from '../../../src/core/settlement.ts'
import type { Demand, NewJob, Store, TypeLimits } from '../../../src/store.ts'
import { noLimits } from '../../../src/store-testing/conformance/acts.ts'

export interface Step {
  readonly name: string
  /** Time since the step before, ms. */
  readonly later: number
  /**
   * May whoever did not hear the answer ask again? Inserts with ids do nothing then, and settles with tokens give the
   * very same answer besides.
   */
  readonly again: 'no effect' | 'same answer' | null
  readonly ask: (store: Store) => Promise<unknown>
}

const leaseMs = 10_000
export const boom = { name: 'Error', message: 'boom' }
export type Ask = Step['ask']

export const step = (name: string, ask: Ask, later = 100): Step => ({ name, later, again: null, ask })
export const inserts = (name: string, ...asks: readonly Ask[]): Step => ({
  ...step(name, together(...asks)),
  again: 'no effect',
})
export const settles = (name: string, ...endings: readonly Ending[]): Step => {
  return { ...step(name, settle(...endings)), again: 'same answer' }
}

export const put =
  (jobs: readonly NewJob[], capacity: number | null = null): Ask =>
  async (store) =>
    store.insert([{ jobs, capacity }])

export const together =
  (...asks: readonly Ask[]): Ask =>
  (store) =>
    Promise.all(asks.map((ask) => ask(store)))

type Terms = Partial<TypeLimits> & Pick<Demand, 'onDead'>

export const claim =
  (token: string, type: string, max: number, terms: Terms = {}, by = 'w1'): Ask =>
  async (store) => {
    const { onDead, ...limits } = terms
    const demand = [{ type, max, limits: { ...noLimits, ...limits }, ...(onDead !== undefined && { onDead }) }]
    const { jobs, shortfalls } = await store.claim({ worker: by, token, leaseMs, demand })
    return { jobs: jobs.map(({ id, attempt, seq }) => [id, attempt, seq]), shortfalls }
  }

type Ending = Omit<Settlement, 'attempt'> & { readonly attempt?: number }

export const settle =
  (...endings: readonly Ending[]): Ask =>
  async (store) =>
    store.settle(endings.map((ending) => ({ attempt: 1, ...ending })))

export const cancel =
  (reason: string, ...ids: readonly string[]): Ask =>
  async (store) =>
    store.cancel([{ ids, reason, graceMs: 1_000 }])
