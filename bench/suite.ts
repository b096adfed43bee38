/** What a benchmark is made of: a suite per store, sections in it, rows in those, and when a row meets its goal. */

export interface Settings {
  /** Sizes are multiplied by it; 1 is what the goals are meant for. */
  readonly scale: number
  /** Interleaved rounds; figures are their medians. */
  readonly rounds: number
  /** Measure the others too? */
  readonly peers: boolean
}

/** What a section gets to work with. */
export interface Bench extends Settings {
  /** A size at this run's scale. */
  sized(count: number): number
  /** Says how far it is: `done` of `total`, and what comes next. */
  progress(done: number, total: number, next: string): void
  /** Tells what the machine was like before a measurement. */
  sampled(sample: Sample): void
}

/** A measurement, and what it found the machine doing. */
export interface Sample {
  readonly name: string
  /** From 1. */
  readonly round: number
  /** The share of all processors that was in use just before, 0 to 1. */
  readonly busy: number
}

/** CPU time of a job, µs: of the process with all its threads, and of a Redis server. */
export interface Cpu {
  readonly base: number
  readonly ours: number
}

export type Unit = 'jobs/s' | 'events/s' | 'commits' | 'commands' | '/s' | 'ms' | 'µs' | 'B' | 'MB' | '%'

export interface Figure {
  readonly name: string
  /** The median of the samples. */
  readonly value: number
  readonly samples: readonly number[]
}

/** A bound on the ratio of ours to the base, or on our value where there is no base. */
export type Goal = { readonly atLeast: number } | { readonly atMost: number }

export interface Row {
  readonly name: string
  readonly unit: Unit
  readonly base: Figure | null
  readonly ours: Figure
  /** ours / base. */
  readonly ratio: number | null
  /** What a job costs beside it, where it is known: it does not grow when others use the machine. */
  readonly cpu: Cpu | null
  readonly goal: Goal | null
  readonly verdict: 'ok' | 'short' | null
}

export interface Outcome {
  readonly rows: readonly Row[]
  /** Lines below the table. */
  readonly notes?: readonly string[]
}

export interface Section {
  readonly name: string
  readonly title: (bench: Bench) => string
  /** Is part of a run only when it is named. */
  readonly onRequest?: boolean
  readonly needsPeers?: boolean
  readonly run: (bench: Bench) => Promise<Outcome>
}

export interface Suite {
  readonly store: string
  /** The sections that tell most of what the store costs: those of a run over all stores. */
  readonly main: readonly string[]
  /** Where it keeps its files, in words. */
  readonly place?: () => string
  readonly sections: readonly Section[]
}

/** Ours beside a base, such as a peer or ourselves with less to carry. */
export function compared(
  name: string,
  unit: Unit,
  base: Figure,
  ours: Figure,
  goal: Goal | null = null,
  cpu: Cpu | null = null,
): Row {
  const ratio = ours.value / base.value
  return { name, unit, base, ours, ratio, cpu, goal, verdict: verdictOf(ratio, goal) }
}

/** Ours alone. */
export function single(name: string, unit: Unit, ours: Figure, goal: Goal | null = null): Row {
  return { name, unit, base: null, ours, ratio: null, cpu: null, goal, verdict: verdictOf(ours.value, goal) }
}

function verdictOf(value: number, goal: Goal | null): Row['verdict'] {
  if (goal === null) return null
  return ('atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost) ? 'ok' : 'short'
}
