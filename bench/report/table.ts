/** A section as a table that a person can read. */
import type { MeasuredSection } from './report.ts'
import { formatCpu, formatFigure, formatGoal, formatRatio } from './format.ts'
import { quietLine } from './quiet.ts'
import type { Row } from '../suite.ts'

const header = ['', 'base', '', 'ours', 'ratio', 'CPU', 'goal', ''] as const

function cells({ name, unit, base, ours, ratio, cpu, goal, verdict }: Row): string[] {
  return [
    name,
    base?.name ?? '',
    base === null ? '' : formatFigure(base.value, unit),
    `${formatFigure(ours.value, unit)} ${unit}`,
    ratio === null ? '' : formatRatio(ratio),
    cpu === null ? '' : formatCpu(cpu),
    goal === null ? '' : formatGoal(goal, ratio === null ? unit : null),
    verdict ?? '',
  ]
}

const isText = (column: number): boolean => column < 2 || column === 7

export function sectionTable({ name, title, rows, notes, samples, problem }: MeasuredSection): string {
  const lines = [header.map(String), ...rows.map(cells)]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const table = lines.map((line) =>
    line
      .map((cell, i) => (isText(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
  return [
    `${name}: ${title}`,
    ...(rows.length > 0 ? table : []).map((line) => `  ${line}`),
    ...notes.map((note) => `  ${note}`),
    ...(samples.length > 0 ? [`  ${quietLine(samples)}`] : []),
    ...(problem === null ? [] : [`  NOT VERIFIED: ${problem}`]),
  ].join('\n')
}
