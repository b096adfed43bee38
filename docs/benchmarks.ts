/** The text and the pictures of docs/benchmarks.md, from the figures that were recorded last. */
import { formatCpu, formatFigure, formatGoal, formatRatio } from '../bench/report/format.ts'
import { recordedFigures, type RecordedSection } from '../bench/report/figures.ts'
import { machineLine } from '../bench/report/machine.ts'
import { quietLine } from '../bench/report/quiet.ts'
import type { Figure, Row } from '../bench/suite.ts'

const stores = { memory: 'Memory', sqlite: 'SQLite', redis: 'Redis', postgres: 'PostgreSQL' } as const
type StoreName = keyof typeof stores

const titles: Readonly<Record<string, string>> = {
  throughput: 'enqueued and processed',
  enqueue: 'enqueued',
  process: 'processed',
  features: 'processed, with more than plain jobs have',
  waiting: 'processed, by handlers that wait',
  append: 'processed, on a server that appends to a file',
  fleet: 'processed by four processes',
  machines: 'machines of five states',
}

/** A row with something beside it. */
type Comparison = Row & { readonly base: Figure; readonly ratio: number }

const comparisonsOf = ({ rows }: RecordedSection): Comparison[] =>
  rows.filter((row): row is Comparison => row.base !== null && row.ratio !== null)

function table(section: RecordedSection): string {
  const cells = comparisonsOf(section).map(({ name, base, ours, ratio, cpu, unit, goal, verdict }) => [
    name,
    base.name,
    formatFigure(ours.value, unit),
    formatFigure(base.value, unit),
    `${formatRatio(ratio)} ×`,
    cpu === null ? '' : formatCpu(cpu),
    goal === null ? '' : `${formatGoal(goal, null)}${verdict === 'ok' ? '' : ', short'}`,
  ])
  const head = ['ours', 'beside', 'jobs/s', 'beside it', 'ratio', 'CPU per job', 'goal']
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function runOf({ at, machine, settings, samples }: RecordedSection): string {
  const scale = settings.scale === 1 ? '' : `, sizes × ${settings.scale}`
  return `${at.slice(0, 10)}, ${settings.rounds === 1 ? '1 round' : `${settings.rounds} rounds`}${scale}; ${quietLine(samples)}. ${machineLine(machine)}.`
}

function storeText(store: StoreName): string {
  const sections = recordedFigures(store).filter((section) => comparisonsOf(section).length > 0)
  const texts = sections.map(
    (section) => `### ${stores[store]}: ${titles[section.name] ?? section.name}

${section.title[0]?.toUpperCase()}${section.title.slice(1)}.

${table(section)}

${runOf(section)}`,
  )
  return [`## ${stores[store]}`, ...texts].join('\n\n')
}

export const benchmarksDocument = (): string => `# Benchmarks

<!-- Generated from bench/figures/ by \`npm run docs\`. -->

What jobchart does beside what else there is, on one machine, in one run: rounds are interleaved, figures are medians, each job of
each figure is counted. Others are measured at their newest versions with the settings that their documentation recommends.
Jobs per second depend on the machine and on what else it does; the ratio of two figures of a run does less, and the CPU time of a job
(of the process with all its threads, and of a Redis server) least. \`bench/README.md\` says what each row means.

\`\`\`sh
npm run bench                      # the main sections of all stores
npm run bench -- --quick           # the same, small: does it work?
npm run bench -- redis --only process
\`\`\`

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="images/benchmarks-dark.svg">
  <img alt="Jobs per second of jobchart as multiples of those of what it is measured by" src="images/benchmarks-light.svg">
</picture>

${(Object.keys(stores) as StoreName[]).map(storeText).join('\n\n')}
`

// ── the picture ────────────────────────────────────────────────────────────

interface Theme {
  readonly back: string
  readonly text: string
  readonly dim: string
  readonly more: string
  readonly less: string
}

const themes: Readonly<Record<'light' | 'dark', Theme>> = {
  light: { back: '#ffffff', text: '#1f2328', dim: '#59636e', more: '#1a7f64', less: '#b0853a' },
  dark: { back: '#0d1117', text: '#e6edf3', dim: '#9198a1', more: '#3fb992', less: '#d6a854' },
}

const width = 940
const labelWidth = 470
const rowHeight = 26
const headHeight = 44
/** Ratios from 1/16 to 32: a factor of two is as long everywhere. */
const [least, most] = [-4, 5]

const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')

function drawn(): { label: string; ratio: number }[] {
  return (Object.keys(stores) as StoreName[]).flatMap((store) =>
    recordedFigures(store)
      .filter(({ name }) => ['throughput', 'enqueue', 'process', 'machines'].includes(name))
      .flatMap((section) =>
        comparisonsOf(section)
          .filter(({ name, goal }) => goal !== null && !/observed|all kept/.test(name))
          .map(({ name, base, ratio }) => ({
            label: `${stores[store]}, ${section.name === 'machines' ? `machines, ${name}` : name} ÷ ${base.name}`,
            ratio,
          })),
      ),
  )
}

/** The comparisons that have a goal. Bars on a scale of powers of two, to the right of 1 × where jobchart is faster. */
export function benchmarksPicture(theme: 'light' | 'dark'): string {
  const { back, text, dim, more, less } = themes[theme]
  const bars = drawn()
  const height = headHeight + bars.length * rowHeight + 16
  const xOf = (power: number): number =>
    labelWidth + ((Math.min(most, Math.max(least, power)) - least) / (most - least)) * (width - labelWidth - 60)
  const middle = xOf(0)
  const lines = Array.from({ length: most - least + 1 }, (_, i) => {
    const power = i + least
    const x = xOf(power).toFixed(1)
    const label = power < 0 ? `1/${2 ** -power}` : `${2 ** power}`
    return `<line x1="${x}" y1="${headHeight - 12}" x2="${x}" y2="${height - 12}" stroke="${dim}" stroke-opacity="${power === 0 ? 0.9 : 0.25}"/>
<text x="${x}" y="${headHeight - 20}" fill="${dim}" text-anchor="middle">${label} ×</text>`
  })
  const rows = bars.map(({ label, ratio }, i) => {
    const y = headHeight + i * rowHeight
    const end = xOf(Math.log2(ratio))
    const [x, length] = [Math.min(middle, end), Math.abs(end - middle)]
    return `<text x="${labelWidth - 12}" y="${y + 12}" fill="${text}" text-anchor="end">${escaped(label)}</text>
<rect x="${x.toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="16" rx="2" fill="${ratio >= 1 ? more : less}"/>
<text x="${(Math.max(middle, end) + 6).toFixed(1)}" y="${y + 12}" fill="${text}">${formatRatio(ratio)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" role="img">
<title>Jobs per second of jobchart as multiples of those of what it is measured by</title>
<rect width="${width}" height="${height}" fill="${back}"/>
${[...lines, ...rows].join('\n')}
</svg>
`
}
