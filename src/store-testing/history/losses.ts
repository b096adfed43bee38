/**
 * Servers that lose what they have acknowledged: of a write in such a time nothing is left, and numbers of transitions
 * are given again. What was told of a job then contradicts what comes after, so jobs with a call in such a time are not
 * judged: only the others, the counts, and that everything which is there has ended.
 */
import type { JobFacts } from './facts.ts'
import type { HistoryCall } from './lines.ts'

/** A time in which writes were lost: from the last one that was kept to the return of the server; store time, ms. */
export interface Loss {
  readonly from: number
  readonly to: number
}

/** May the call have written in such a time? One without an answer may have done so at any time after it. */
export const isLost = (losses: readonly Loss[], { invokedAt, answeredAt }: HistoryCall): boolean =>
  losses.some(({ from, to }) => invokedAt <= to && (answeredAt ?? Infinity) >= from)

/**
 * The jobs that lost calls name, and those that are bound to them: by their unique key, as parent and child, or as the
 * hook of a death.
 */
export function jobsOfCalls(
  jobs: ReadonlyMap<string, JobFacts>,
  calls: readonly Pick<HistoryCall, 'asked' | 'answer'>[],
): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { asked, answer } of calls) {
    for (const text of textsIn(asked)) if (jobs.has(text)) found.add(text)
    for (const text of textsIn(answer)) if (jobs.has(text)) found.add(text)
  }
  const bound = boundJobs(jobs)
  // The loop appends to the set: those that are bound to a job that was found follow.
  for (const id of found) for (const other of bound.get(id) ?? []) found.add(other)
  return found
}

function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) yield* textsIn(member)
}

const hook = /^(?<job>.*)\/dead\/\d+$/s

/** By id: the jobs that are bound to it. Those of a key are bound to the first of them, and that one to all of them. */
function boundJobs(jobs: ReadonlyMap<string, JobFacts>): ReadonlyMap<string, readonly string[]> {
  const bound = new Map<string, string[]>()
  const bind = (a: string, b: string): void => {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const others = bound.get(from) ?? []
      if (others.length === 0) bound.set(from, others)
      others.push(to)
    }
  }
  const firsts = new Map<string, string>()
  for (const { id, record, inserts } of jobs.values()) {
    const asked = record ?? inserts[0]?.asked
    if (asked !== undefined && asked.key !== null) {
      const name = JSON.stringify([asked.type, asked.key])
      const first = firsts.get(name)
      if (first === undefined) firsts.set(name, id)
      else bind(first, id)
    }
    const parent = asked?.parent?.id ?? hook.exec(id)?.groups?.['job']
    if (parent !== undefined) bind(parent, id)
  }
  return bound
}
