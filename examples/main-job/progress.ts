/**
 * How many jobs of each type have ended, whichever process has run them: those that had ended at the start, as the
 * survey has found them, and those that have ended since, as the store counts them. The tallies of this process lag
 * behind where others share the work, because they count a job when the walk has come to its file.
 */
import type { Counts, StateCounts } from 'jobchart'
import type { Ended, Survey } from './before.ts'
import type { Tallies } from './tally.ts'

const none: Ended = { done: 0, dead: 0 }

export class Progress {
  private readonly tallies: Tallies
  private readonly atStart: Counts
  private survey: Survey | null = null

  /** @param atStart the store's counts when this process started */
  constructor(tallies: Tallies, atStart: Counts) {
    this.tallies = tallies
    this.atStart = atStart
  }

  surveyed(survey: Survey): void {
    this.survey = survey
  }

  /** Jobs there will be in all; null while the files are being counted. */
  get expected(): number | null {
    return this.survey === null ? null : this.survey.files * this.tallies.types.length
  }

  /** @param now the store's counts of the type */
  ended(type: string, now: StateCounts): Ended {
    const before = this.survey?.ended.get(type) ?? none
    const then = this.atStart.types[type] ?? none
    const tally = this.tallies.of(type)
    // A store that forgets what has ended counts less than was done; then this process has done it all.
    const of = (state: 'done' | 'dead'): number => Math.max(tally[state], before[state] + now[state] - then[state])
    return { done: of('done'), dead: of('dead') }
  }

  /** How many of them since the start. */
  endedSince(type: string, now: StateCounts): number {
    const then = this.atStart.types[type] ?? none
    const { done, dead, before } = this.tallies.of(type)
    return Math.max(done + dead - before, now.done + now.dead - then.done - then.dead)
  }
}

/** All types together. */
export const sum = (ended: Iterable<Ended>): Ended => {
  const total = { ...none }
  for (const { done, dead } of ended) {
    total.done += done
    total.dead += dead
  }
  return total
}
