/** Runs sections one after the other. A section that fails does not keep the others from being measured. */
import { NotVerified } from './harness/ledger.ts'
import { Progress } from './harness/progress.ts'
import type { MeasuredSection } from './report/report.ts'
import type { Bench, Sample, Section, Settings } from './suite.ts'

/** @param measured called with each section as soon as it is done */
export async function runSuite(
  sections: readonly Section[],
  settings: Settings,
  measured: (section: MeasuredSection) => void,
): Promise<MeasuredSection[]> {
  const progress = new Progress()
  const all: MeasuredSection[] = []
  for (const [i, section] of sections.entries()) {
    const at = `${i + 1}/${sections.length} ${section.name}`
    const bench: Omit<Bench, 'sampled'> = {
      ...settings,
      sized: (count) => Math.max(sizeMin, Math.round(count * settings.scale)),
      progress: (done, total, next) => progress.say(`${at}, ${done + 1}/${total}: ${next}`),
    }
    const one = await runSection(section, bench)
    progress.clear()
    measured(one)
    all.push(one)
  }
  return all
}

/** Below this a figure says nothing at all. */
const sizeMin = 20

async function runSection(section: Section, bench: Omit<Bench, 'sampled'>): Promise<MeasuredSection> {
  const samples: Sample[] = []
  const watched: Bench = { ...bench, sampled: (sample) => samples.push(sample) }
  const about = { name: section.name, title: section.title(watched), samples }
  try {
    const { rows, notes = [] } = await section.run(watched)
    return { ...about, rows, notes, problem: null }
  } catch (error) {
    const problem = error instanceof NotVerified ? error.message : String((error as Error).stack ?? error)
    return { ...about, rows: [], notes: [], problem }
  }
}
