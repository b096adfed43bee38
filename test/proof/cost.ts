/**
 * What a job costs, beside the same work of others, is not much more than the last recorded figures say. CPU time per
 * job is compared as a multiple of that of what stands beside it in the same run, so that it does not matter on which
 * machine, or how busy, the two runs were.
 */
import { recordedFigures, type RecordedSection } from '../../bench/report/figures.ts'
import type { Report } from '../../bench/report/report.ts'
import type { Row } from '../../bench/suite.ts'
import { runProgram } from '../harness/processes.ts'
import type { Proof } from './proof.ts'

const main = new URL('../../bench/main.ts', import.meta.url)
/** The sections that are compared: those that tell most, and take minutes. */
const watched = {
  memory: ['throughput', 'machines'],
  sqlite: ['process'],
  redis: ['process'],
  postgres: ['process'],
} as const
const rounds = 3
const growthMax = 1.1

export const cost: Proof = {
  name: 'cost',
  claim: `a job costs at most ${growthMax} × the CPU time that the last recorded figures say, beside the same work of others`,
  async run() {
    const failures: string[] = []
    const compared: string[] = []
    for (const [store, names] of Object.entries(watched)) {
      for (const section of recordedFigures(store).filter(({ name }) => (names as readonly string[]).includes(name))) {
        const report = await measured(store, section)
        if (typeof report === 'string') failures.push(report)
        else {
          const now = report.sections.flatMap(({ rows }) => rows)
          const growths = costGrowth(section.rows, now)
          compared.push(...growths.keys())
          for (const [name, growth] of growths) {
            if (growth > growthMax)
              failures.push(`${store}, ${section.name}, ${name}: ${growth.toFixed(2)} × as much CPU`)
          }
        }
      }
    }
    if (compared.length === 0) failures.push('nothing was compared')
    return { summary: `${compared.length} rows, ${rounds} rounds each`, failures }
  },
}

/** @returns what went wrong, as a text */
async function measured(store: string, { name, settings }: RecordedSection): Promise<Report | string> {
  const args = [store, '--only', name, '--rounds', String(rounds), '--scale', String(settings.scale), '--json']
  const { exitCode, stdout, stderr } = await runProgram(main, args)
  return exitCode === 0 ? (JSON.parse(stdout) as Report) : `${store}, ${name} ended with ${exitCode}:\n${stderr}`
}

/**
 * How many times as much a job costs now, by the name of its row. Where it stands beside several, the least growth:
 * more of ours shows beside all of them, less of one of them beside that one alone.
 */
export function costGrowth(before: readonly Row[], now: readonly Row[]): Map<string, number> {
  const growths = new Map<string, number>()
  for (const { name, base, cpu } of before) {
    const same = now.find((row) => row.name === name && row.base?.name === base?.name)
    if (!cpu || !same?.cpu) continue
    const growth = same.cpu.ours / same.cpu.base / (cpu.ours / cpu.base)
    growths.set(name, Math.min(growths.get(name) ?? Infinity, growth))
  }
  return growths
}
