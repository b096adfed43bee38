/** The machine jobs of a storm. */
import { constant, defineJob, exponential, type JobDefinition, type MachineTypes } from 'jobchart'
import type { AnyStateMachine } from 'xstate'
import * as charts from './charts.ts'
import type { Ledger } from './ledger.ts'
import { leg, waitingLeg } from './legs.ts'
import { partsFor, type MachineInput, type Memory, type Parts, type StormEvent } from './parts.ts'

export type MachineJob = JobDefinition<MachineInput, Memory, MachineTypes & { event: StormEvent }>

const often = { maxAttempts: 6, backoff: exponential({ base: 50, max: 500 }) }
const seldom = (maxAttempts: number) => ({ maxAttempts, backoff: constant(50) })

/** Kinds of machine jobs: their charts, how often they are tried, and how many jobs they invoke. */
export const kinds = {
  regions: { chart: charts.regions, retry: often, legs: 0 },
  nested: { chart: charts.nested, retry: often, legs: 0 },
  'fan-2': { chart: charts.fanOfTwo, retry: often, legs: 2 },
  'fan-3': { chart: charts.fanOfThree, retry: often, legs: 3 },
  impatient: { chart: charts.impatient, retry: often, legs: 1 },
  flaky: { chart: charts.flaky, retry: often, legs: 0 },
  /** Dies of what `flaky` survives; somebody sends it through again. */
  frail: { chart: charts.flaky, retry: seldom(2), legs: 0 },
  compensating: { chart: charts.compensating, retry: often, legs: 0 },
  'poisonous-1': { chart: charts.poisonous, retry: seldom(1), legs: 0 },
  'poisonous-2': { chart: charts.poisonous, retry: seldom(2), legs: 0 },
  'poisonous-3': { chart: charts.poisonous, retry: seldom(3), legs: 0 },
} as const

export type Kind = keyof typeof kinds

/** The definitions by kind; with those of the jobs that machines invoke under `legs`. */
export function machineJobs(ledger: Ledger): {
  readonly byKind: ReadonlyMap<Kind, MachineJob>
  readonly all: readonly JobDefinition[]
} {
  const parts = partsFor(ledger)
  const byKind = new Map(
    Object.entries(kinds).map(([kind, { chart, retry }]) => {
      return [kind as Kind, jobOf(kind, chart, retry, parts)]
    }),
  )
  return { byKind, all: [leg, waitingLeg, ...byKind.values()] as readonly JobDefinition[] }
}

function jobOf(
  kind: string,
  chart: (parts: Parts) => AnyStateMachine,
  retry: typeof often | ReturnType<typeof seldom>,
  parts: Parts,
): MachineJob {
  return defineJob({ type: `machine-${kind}`, machine: chart(parts), retry }) as MachineJob
}
