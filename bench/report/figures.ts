/**
 * The last figures of each store, a file each in `bench/figures/`, section by section: a run of some sections leaves
 * those of the others. The documentation shows them, and a proof compares what a job costs now with them.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Settings } from '../suite.ts'
import type { Machine } from './machine.ts'
import type { MeasuredSection, Report } from './report.ts'

/** A section, and the run that measured it. */
export interface RecordedSection extends Omit<MeasuredSection, 'problem'> {
  /** ISO 8601. */
  readonly at: string
  readonly machine: Machine
  readonly place: string | null
  readonly settings: Settings
}

const folder = new URL('../figures/', import.meta.url)
const fileOf = (store: string): URL => new URL(`${store}.json`, folder)

/** The last figures of a store; none if it was never measured. */
export function recordedFigures(store: string): readonly RecordedSection[] {
  const file = fileOf(store)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RecordedSection[]) : []
}

/** Keeps the verified sections of a run in the place of those that were measured before. */
export function recordFigures({ store, at, machine, place, settings, sections }: Report): void {
  const measured = sections
    .filter(({ problem }) => problem === null)
    .map(({ name, title, rows, notes, samples }): RecordedSection => {
      return { name, title, rows, notes, samples, at, machine, place, settings }
    })
  const others = recordedFigures(store).filter(({ name }) => measured.every((each) => each.name !== name))
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(store), `${JSON.stringify([...measured, ...others], null, 1)}\n`)
}
