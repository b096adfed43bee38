/** Numbers as people read them. */
import type { Cpu, Goal, Unit } from '../suite.ts'

const digits = (value: number, fraction: number): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: fraction, maximumFractionDigits: fraction })

export function formatFigure(value: number, unit: Unit): string {
  if (unit === 'jobs/s' || unit === 'B') return digits(value, 0)
  if (unit === 'MB') return digits(value, 1)
  return digits(value, value < 1 ? 3 : value < 100 ? 2 : 0)
}

export const formatRatio = (ratio: number): string => digits(ratio, 2)

/** What a job costs the base and us. */
export const formatCpu = ({ base, ours }: Cpu): string => `${formatFigure(base, 'µs')} → ${formatFigure(ours, 'µs')} µs`

/** @param unit of a goal on the value; null for one on the ratio */
export function formatGoal(goal: Goal, unit: Unit | null): string {
  const [sign, bound] = 'atLeast' in goal ? ['≥', goal.atLeast] : ['≤', goal.atMost]
  return `${sign} ${bound}${unit === null ? ' ×' : ` ${unit}`}`
}
