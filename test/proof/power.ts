/** Power cuts: 1,000 images of what may be on the disk, and 100 each of what must be noticed. */
import { cutPower, type PowerReport } from '../stores/sqlite/power/power.ts'
import type { Proof } from './proof.ts'

const recordings = 10
const imagesEach = 100

export const power: Proof = {
  name: 'power',
  claim: 'whenever the power fails, nothing that a SQLite file has acknowledged is lost, and the file is whole',
  async run({ seed, scale }) {
    const failures: string[] = []
    const reports: PowerReport[] = []
    for (let i = 0; i < recordings * scale; i++) {
      const report = await cutPower({ seed: seed + i, images: imagesEach })
      reports.push(report)
      failures.push(...[...report.lost, ...report.damaged].map((what) => `seed ${seed + i}, ${what}`))
    }
    const off = await cutPower({ seed, images: imagesEach, synchronous: 'OFF' })
    if (off.lost.length === 0) failures.push(`seed ${seed}: synchronous = OFF was not noticed`)
    const normal = await cutPower({ seed, images: imagesEach, durability: 'normal' })
    if (normal.lost.length === 0) failures.push(`seed ${seed}: synchronous = NORMAL was not noticed`)
    failures.push(...normal.damaged.map((what) => `seed ${seed}, durability normal, ${what}`))
    const total = (of: (report: PowerReport) => number): number => reports.reduce((sum, report) => sum + of(report), 0)
    const summary =
      `${total(({ images }) => images)} images, ${total(({ undecided }) => undecided)} of them with unsynced writes; ` +
      `of ${imagesEach} with OFF ${off.lost.length} had lost something and ${off.damaged.length} were damaged, ` +
      `of ${imagesEach} with NORMAL ${normal.lost.length} and ${normal.damaged.length}`
    return { summary, failures }
  },
}
