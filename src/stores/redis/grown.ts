/**
 * A row that only grows. A plain job is stored with what its enqueue gave; its claim appends an entry, and so does its
 * end. Nothing else of the row is read or written for that: an entry is a text that the jobs of a call share but for
 * the number of its transition. Whoever changes such a row otherwise writes it whole, with its entries folded in.
 *
 *   + time of the enqueue · row as it was then
 *   \0C first number + place , at , worker , token , end of the lease , attempts , hook \1
 *   \0O output \0D first number + place , at \1
 *
 * While its claim is the last entry, the lease of the job is that of its claim.
 */
import { compiledArrow } from '../../core/compiled-arrows.ts'
import type { JobState } from '../../core/lifecycle.ts'
import { separator } from './history-text.ts'

/** What such a row begins with, and the digits that follow it. */
export const grownMark = '+'
export const timeChars = 16
/** What its last entry ends with, once it has grown: no JSON has it. */
export const entryEnd = '\x01'

/** A claim of a job that was not claimed before, and its end, by the chart. */
const counters = { attempt: 0, maxAttempts: 1, generation: 1 }

function target(from: JobState, event: 'CLAIM' | 'COMPLETE'): JobState {
  const arrow = compiledArrow(from, event, { ...counters, attempt: event === 'CLAIM' ? 0 : 1 })
  if (arrow === null) throw new TypeError(`job.machine.ts: no arrow for ${event} of ${from}`)
  return arrow.to
}

export const waiting: JobState = 'queued'
export const started: JobState = target(waiting, 'CLAIM')
export const finished: JobState = target(started, 'COMPLETE')

/** What a claim appends, from its comma on: the same for all jobs of a type that it takes. */
interface GrownClaim {
  readonly at: number
  readonly worker: string
  readonly token: string
  readonly leaseEnd: number
  /** Null: that of the enqueue. */
  readonly maxAttempts: number | null
  readonly onDead: string | null
}

type ClaimValues = readonly [number, string, string, number, number | null, string | null]

interface Entries {
  /** The output of the job; null: none. */
  output: string | null
  claim: (GrownClaim & { readonly seq: number }) | null
  end: { readonly seq: number; readonly at: number } | null
}

/** The entries of a row that has grown. @param parts what follows the row as it was at the enqueue */
export function entriesOf(parts: readonly string[]): Entries {
  const entries: Entries = { output: null, claim: null, end: null }
  for (const part of parts) {
    if (part.startsWith('O')) entries.output = part.slice(1)
    else if (part.startsWith('C')) {
      entries.claim = { seq: numberOf(part), ...claimFrom(part.slice(part.indexOf(','))) }
    } else if (part.startsWith('D')) entries.end = { seq: numberOf(part), at: Number(restOf(part)) }
  }
  return entries
}

/** @param suffix what a claim has appended, from its comma on */
export function claimFrom(suffix: string): GrownClaim {
  const [at, worker, token, leaseEnd, maxAttempts, onDead] = JSON.parse(`[${suffix.slice(1, -1)}]`) as ClaimValues
  return { at, worker, token, leaseEnd, maxAttempts, onDead }
}

const restOf = (part: string): string => part.slice(part.indexOf(',') + 1, -1)

function numberOf(part: string): number {
  const plus = part.indexOf('+')
  return Number(part.slice(1, plus)) + Number(part.slice(plus + 1, part.indexOf(',')))
}

/** A row that was claimed. @param seq the number of the claim @param claim what it has appended */
export const afterClaim = (text: string, seq: number, claim: string): string => `${text}${separator}C${seq}+0${claim}`
