/** Handlers that wait: how far a store holds up the slots, and what a job costs whose end comes alone. */
import type { QueueWork } from './harness/queue-work.ts'
import { mostPerSecond, type Waits } from './harness/waiting.ts'
import type { Feature } from './open-queue.ts'
import type { Comparison } from './rows.ts'
import type { Bench } from './suite.ts'

const waits: Waits = { fromMs: 1, toMs: 20 }
const slotsOf = [20, 100] as const

const features: Readonly<Partial<Record<Feature, string>>> = {
  cap: 'a limit of the type',
  keys: '1,000 keys with a limit each',
}

type Variant = Omit<QueueWork, 'timed' | 'types'> & { readonly contender: string }

/** Names of peers in the rows, by their modules. */
type Peers = Readonly<Record<string, string>>

export function waitingTitle(bench: Bench): string {
  const most = slotsOf.map((slots) => Math.floor(mostPerSecond(slots, waits)).toLocaleString('en-US'))
  const jobs = bench.sized(10_000).toLocaleString('en-US')
  return `${jobs} jobs over 5 types, whose handlers wait ${waits.fromMs} to ${waits.toMs} ms: ${most.join(' or ')} jobs/s at most`
}

/** The contenders of a section: peers, and us on the store that `us` is a module of. */
export function waitingVariants(us: string, peers: Peers, bench: Bench): Record<string, Variant> {
  const variants: Record<string, Variant> = {}
  for (const slots of slotsOf) {
    const work = { mode: { by: 'batch', size: 100 }, slots, jobs: bench.sized(10_000), waits } as const
    for (const [contender, name] of Object.entries(peers)) variants[`${name}, ${slots} slots`] = { contender, ...work }
    variants[`${slots} slots`] = { contender: us, ...work }
    for (const [feature, name] of Object.entries(features)) {
      variants[`${slots} slots, ${name}`] = { contender: us, ...work, feature: feature as Feature }
    }
  }
  return variants
}

export const waitingComparisons = (peers: Peers): Comparison[] =>
  slotsOf.flatMap((slots) => [
    ...Object.values(peers).map((name): Comparison => [`${slots} slots`, `${name}, ${slots} slots`, null]),
    ...Object.values(features).map((name): Comparison => [`${slots} slots, ${name}`, `${slots} slots`, null]),
  ])
