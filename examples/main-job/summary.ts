/** What is said at the end: how the jobs fared, and what they found. */
import type { JobRecord } from 'jobchart'
import { compressibleBytesMin, ratioOf, wastedBytes, type Findings } from './findings.ts'
import type { FileInput } from './jobs.ts'
import type { Reviews } from './reviews.ts'
import type { Tallies } from './tally.ts'
import { bytes, count, duration, left, percent, plural, right, table } from './text.ts'
import type { Walked } from './walk.ts'

export interface Outcome {
  readonly folder: string
  readonly elapsedMs: number
  readonly walked: Walked
  /** A path as people typed it. */
  readonly shown: (path: string) => string
  readonly tallies: Tallies
  readonly findings: Findings
  /** The first of the dead jobs. */
  readonly dead: readonly JobRecord[]
  /** Jobs that are not done; null if the run came to its end. */
  readonly leftUndone: number | null
  readonly reviews: Reviews
  /** Does the next start go on with them? */
  readonly goesOn: boolean
}

interface Section {
  readonly title: string
  readonly lines?: readonly string[]
}

export function summaryOf(outcome: Outcome, paintTitle: (title: string) => string): string {
  const { tallies, walked } = outcome
  const sections = [
    { title: headline(outcome), lines: [...perType(tallies), ...byOthers(tallies)] },
    duplicates(outcome),
    incompressible(outcome),
    longestLines(outcome),
    suspicious(outcome),
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
  const { done, dead, before } = tallies.total()
  const now = done + dead - before
  const what = `${folder}: ${plural(walked.files, 'file')}, ${plural(done + dead, 'job')}`
  if (now === 0 && before > 0) return `${what}, all done before; --fresh does them again`
  const speed = `in ${duration(elapsedMs)}, ${count(Math.round((now * 1_000) / elapsedMs))} jobs/s`
  return before === 0 ? `${what} ${speed}` : `${what}: ${count(before)} before, ${count(now)} ${speed}`
}

function byOthers(tallies: Tallies): string[] {
  const { elsewhere } = tallies.total()
  return elsewhere === 0 ? [] : [`  ${plural(elsewhere, 'job')} of them by other processes on the same file`]
}

function perType(tallies: Tallies): string[] {
  if (tallies.total().jobs === 0) return []
  const rows = [...tallies.types.map((type) => ({ type, ...tallies.of(type) })), { type: 'all', ...tallies.total() }]
  return table([
    left(
      '',
      rows.map(({ type }) => type),
    ),
    right(
      'jobs',
      rows.map(({ jobs }) => count(jobs)),
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
      rows.map(({ waitedMs, done, dead }) => duration(waitedMs / Math.max(1, done + dead))),
    ),
  ])
}

function duplicates({ findings, walked, shown }: Outcome): Section | null {
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
        largest.map(({ path }) => shown(path)),
      ),
    ]),
  }
}

function incompressible({ findings, shown }: Outcome): Section | null {
  const { items } = findings.incompressible
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
        items.map(({ path }) => shown(path)),
      ),
    ]),
  }
}

function longestLines({ findings, shown }: Outcome): Section | null {
  const { items } = findings.longestLines
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
        items.map(({ path }) => shown(path)),
      ),
    ]),
  }
}

function suspicious({ reviews: { waiting, ended, files }, shown }: Outcome): Section | null {
  if (waiting + ended === 0) return null
  const decided = ended === 0 ? '' : `, ${count(ended)} decided`
  if (waiting === 0) return { title: `Suspicious files: ${count(ended)} decided` }
  return {
    title: `Suspicious files: ${count(waiting)} to decide on within ten minutes${decided}; --open shows them`,
    lines: table([
      right(
        'longest line',
        files.map((file) => bytes(file.longestBytes)),
      ),
      left(
        'file',
        files.map(({ path }) => shown(path)),
      ),
    ]),
  }
}

function dead({ dead: records, tallies, shown }: Outcome): Section | null {
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
      records.map(({ input }) => shown((input as unknown as FileInput).path)),
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

function interrupted({ leftUndone, goesOn, walked }: Outcome): Section | null {
  if (leftUndone === null) return null
  const where = walked.isComplete ? '' : `; the walk had come to ${plural(walked.files, 'file')}`
  const then = goesOn ? '; the next start goes on' : ''
  return { title: `Interrupted: ${plural(leftUndone, 'job')} left undone${where}${then}` }
}

/** Node's own errors end with the call and its path, which has a column of its own. */
const withoutPath = (message: string): string => message.replace(/, \w+ '.*'$/s, '')
