/** What is said at the end: how the jobs fared, and what they found. */
import type { JobRecord } from 'jobchart'
import { compressibleBytesMin, ratioOf, wastedBytes, type Findings } from './findings.ts'
import type { FileInput } from './jobs.ts'
import type { Tallies } from './tally.ts'
import { bytes, count, duration, left, percent, plural, right, table } from './text.ts'
import type { Walked } from './walk.ts'

export interface Outcome {
  readonly folder: string
  readonly elapsedMs: number
  readonly walked: Walked
  readonly tallies: Tallies
  readonly findings: Findings
  /** The first of the dead jobs. */
  readonly dead: readonly JobRecord[]
  /** Jobs that will not be run; null if the run came to its end. */
  readonly leftUndone: number | null
}

interface Section {
  readonly title: string
  readonly lines?: readonly string[]
}

export function summaryOf(outcome: Outcome, paintTitle: (title: string) => string): string {
  const { tallies, findings, walked } = outcome
  const sections = [
    { title: headline(outcome), lines: perType(tallies) },
    duplicates(outcome),
    incompressible(findings),
    longestLines(findings),
    dead(outcome),
    skipped(walked),
    interrupted(outcome),
  ]
  return sections
    .filter((section) => section !== null)
    .map(({ title, lines = [] }: Section) => `${[paintTitle(title), ...lines].join('\n')}\n`)
    .join('\n')
}

function headline({ folder, elapsedMs, walked, tallies }: Outcome): string {
  if (walked.files === 0) return `${folder}: no files`
  const { done, dead } = tallies.total()
  const perSecond = Math.round(((done + dead) * 1_000) / elapsedMs)
  const what = `${plural(walked.files, 'file')}, ${plural(done + dead, 'job')}`
  return `${folder}: ${what} in ${duration(elapsedMs)}, ${count(perSecond)} jobs/s`
}

function perType(tallies: Tallies): string[] {
  if (tallies.total().enqueued === 0) return []
  const rows = [...tallies.types.map((type) => ({ type, ...tallies.of(type) })), { type: 'all', ...tallies.total() }]
  return table([
    left(
      '',
      rows.map(({ type }) => type),
    ),
    right(
      'jobs',
      rows.map(({ enqueued }) => count(enqueued)),
    ),
    right(
      'done',
      rows.map(({ done }) => count(done)),
    ),
    right(
      'dead',
      rows.map(({ dead }) => count(dead)),
    ),
    right(
      'retries',
      rows.map(({ retries }) => count(retries)),
    ),
    right(
      'read',
      rows.map(({ readBytes }) => bytes(readBytes)),
    ),
    right(
      'ran',
      rows.map(({ ranMs }) => duration(ranMs)),
    ),
    right(
      'each',
      rows.map((row) => duration(row.ranMs / Math.max(1, row.attempts))),
    ),
    right(
      'waited',
      rows.map((row) => duration(row.waitedMs / Math.max(1, row.started))),
    ),
  ])
}

function duplicates({ findings, walked }: Outcome): Section | null {
  if (walked.files === 0) return null
  const { files, wasted, largest } = findings.duplicates()
  if (files === 0) return { title: 'Duplicates: none' }
  return {
    title: `Duplicates: ${files === 1 ? 'one copy' : `${count(files)} copies`} of other files, ${bytes(wasted)} wasted`,
    lines: table([
      right(
        'wasted',
        largest.map((copies) => bytes(wastedBytes(copies))),
      ),
      right(
        'files',
        largest.map((copies) => count(copies.count)),
      ),
      left(
        'the first',
        largest.map((copies) => copies.path),
      ),
    ]),
  }
}

function incompressible({ incompressible: { items } }: Findings): Section | null {
  if (items.length === 0) return null
  return {
    title: `Hardest to compress, of ${bytes(compressibleBytesMin)} and more`,
    lines: table([
      right(
        'to',
        items.map((item) => percent(ratioOf(item))),
      ),
      right(
        'of',
        items.map((item) => bytes(item.bytes)),
      ),
      left(
        'file',
        items.map((item) => item.path),
      ),
    ]),
  }
}

function longestLines({ longestLines: { items } }: Findings): Section | null {
  if (items.length === 0) return null
  return {
    title: 'Longest lines',
    lines: table([
      right(
        'longest',
        items.map((item) => bytes(item.longestBytes)),
      ),
      right(
        'lines',
        items.map((item) => count(item.lines)),
      ),
      left(
        'file',
        items.map((item) => item.path),
      ),
    ]),
  }
}

function dead({ dead: records, tallies }: Outcome): Section | null {
  const all = tallies.total().dead
  if (all === 0) return null
  const lines = table([
    left(
      'type',
      records.map(({ type }) => type),
    ),
    right(
      'attempts',
      records.map(({ attempt }) => count(attempt)),
    ),
    left(
      'error',
      records.map(({ error }) => withoutPath(error?.message ?? '')),
    ),
    left(
      'file',
      records.map(({ input }) => (input as unknown as FileInput).path),
    ),
  ])
  const more = all - records.length
  return { title: `Dead jobs: ${count(all)}`, lines: more > 0 ? [...lines, `  and ${count(more)} more`] : lines }
}

function skipped({ links, others, unreadableFolders, unreadable }: Walked): Section | null {
  const what = [
    ...(links > 0 ? [plural(links, 'symbolic link')] : []),
    ...(others > 0 ? [plural(others, 'special file')] : []),
    ...(unreadableFolders > 0 ? [plural(unreadableFolders, 'unreadable folder')] : []),
  ]
  return what.length === 0
    ? null
    : { title: `Left out: ${what.join(', ')}`, lines: unreadable.map((why) => `  ${why}`) }
}

function interrupted({ leftUndone, walked }: Outcome): Section | null {
  if (leftUndone === null) return null
  const where = walked.isComplete ? '' : `; the walk had come to ${plural(walked.files, 'file')}`
  return { title: `Interrupted: ${plural(leftUndone, 'job')} left undone${where}` }
}

/** Node's own errors end with the call and its path, which has a column of its own. */
const withoutPath = (message: string): string => message.replace(/, \w+ '.*'$/s, '')
