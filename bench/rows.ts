/** Rows that several sections print alike. */
import { figure, type Spread } from './harness/stats.ts'
import type { Timed } from './harness/timed.ts'
import { compared, single, type Figure, type Goal, type Row, type Unit } from './suite.ts'

export function spreadRows(
  name: string,
  spreads: readonly Spread[],
  goals: { readonly p50?: Goal; readonly p99?: Goal } = {},
): Row[] {
  const row = (what: string, value: (spread: Spread) => number, goal: Goal | null): Row =>
    single(`${name}, ${what}`, 'ms', figure(what, spreads.map(value)), goal)
  return [
    row('p50', ({ p50Ms }) => p50Ms, goals.p50 ?? null),
    row('p99', ({ p99Ms }) => p99Ms, goals.p99 ?? null),
    row('max', ({ maxMs }) => maxMs, null),
  ]
}

/** Ours, the base beside it, and what is wanted of it. */
export type Comparison = readonly [ours: string, base: string, goal: Goal | null]

/**
 * The speed of each contender, the comparisons of those that were measured, and other figures of each.
 * @param samples by the name of the contender
 * @param serverCpu µs of a job, where a server works for it
 */
export function contenderRows<Result extends Timed>(
  samples: Readonly<Record<string, readonly Result[]>>,
  comparisons: readonly Comparison[],
  figures: readonly (readonly [what: string, unit: Unit, value: (result: Result) => number])[],
  serverCpu: (result: Result) => number = () => 0,
): Row[] {
  const names = Object.keys(samples)
  const of = (name: string, value: (result: Result) => number): Figure => figure(name, (samples[name] ?? []).map(value))
  const speed = (name: string): Figure => of(name, ({ perSecond }) => perSecond)
  const cpu = (name: string): number => of(name, (result) => result.cpuMicrosPerJob + serverCpu(result)).value
  return [
    ...names.map((name) => single(name, 'jobs/s', speed(name))),
    ...comparisons
      .filter(([, base]) => names.includes(base))
      .map(([ours, base, goal]) =>
        compared(ours, 'jobs/s', speed(base), speed(ours), goal, { base: cpu(base), ours: cpu(ours) }),
      ),
    ...figures.flatMap(([what, unit, value]) => names.map((name) => single(`${what}, ${name}`, unit, of(name, value)))),
  ]
}
