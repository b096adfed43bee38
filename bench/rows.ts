/** Rows that several sections print alike. */
import { figure, type Spread } from './harness/stats.ts'
import { single, type Goal, type Row } from './suite.ts'

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
