/** A whole run as data: what `--json` writes. */
import type { Row, Sample, Settings } from '../suite.ts'
import type { Machine } from './machine.ts'

export interface MeasuredSection {
  readonly name: string
  readonly title: string
  readonly rows: readonly Row[]
  readonly notes: readonly string[]
  /** The measurements in their order, and how busy the machine was with other work before each. */
  readonly samples: readonly Sample[]
  /** Why its figures do not count, if so. */
  readonly problem: string | null
}

export interface Report {
  readonly store: string
  /** ISO 8601. */
  readonly at: string
  readonly machine: Machine
  /** Where files were kept, if any. */
  readonly place: string | null
  readonly settings: Settings
  readonly sections: readonly MeasuredSection[]
  /** Was every job of every figure counted once? */
  readonly verified: boolean
}
