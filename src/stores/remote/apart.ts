/**
 * Changes of jobs that others work on. A change of many jobs is one commit, on the condition that all of them are as
 * they were read; of a queue that is worked on, one of them mostly is not. Then each job has a condition of its own, in
 * one call of the server: those that have changed meanwhile are left, and are judged again.
 */
import type { JobState } from '../../core/lifecycle.ts'
import type { Selection } from '../../core/source.ts'
import { contended, roundsMax, type CommitEach, type Progress, type RemoteDriver } from './driver.ts'
import { numbered, type Transaction } from './transaction.ts'
import { selectionName, type WorkingSet } from './working-set.ts'

interface Outcome<A> {
  /** The answers of the jobs that were changed, or that needed no change. */
  readonly done: readonly A[]
  /** The jobs that have changed meanwhile. */
  readonly left: readonly string[]
}

/**
 * Changes jobs one by one.
 * @param head what must hold for all of them
 * @param outcomesOf what the record of the progress counts of a job
 * @returns null if what must hold for all does not: then nothing was written
 */
export async function changeJobs<A>(
  driver: RemoteDriver,
  commitEach: CommitEach,
  set: WorkingSet,
  ids: readonly string[],
  act: (transaction: Transaction, id: string) => A,
  head: Transaction | null = null,
  progress: Progress | null = null,
  outcomesOf: (answer: A) => readonly string[] = () => [],
): Promise<Outcome<A> | null> {
  const operated = await driver.operateEach(act, set, ids)
  const jobs = operated.map((job, i) => ({ ...job, id: ids[i] as string, outcomes: outcomesOf(job.answer) }))
  const all = await commitEach(jobs, set.epoch, head, progress)
  if (all === null) return null
  const done: A[] = []
  const left: string[] = []
  for (const [i, { id, transaction, answer }] of jobs.entries()) {
    const written = all[i] ?? null
    if (written === null) {
      driver.leased.forget(id)
      left.push(id)
    } else {
      driver.wrote(transaction, written)
      done.push(numbered(answer, written.base))
    }
  }
  return { done, left }
}

/** Changes jobs one by one until none is left. */
export async function changeEach<A extends object>(
  driver: RemoteDriver,
  commitEach: CommitEach,
  ids: readonly string[],
  act: (transaction: Transaction, ids: readonly string[]) => A,
): Promise<A> {
  const answers: A[] = []
  let left: readonly string[] = [...new Set(ids)]
  for (let tries = 0; tries < roundsMax.commit; tries++) {
    const set = driver.newSet()
    const outcome = await changeJobs(driver, commitEach, set, left, (transaction, id) => act(transaction, [id]))
    answers.push(...(outcome?.done ?? []))
    left = outcome?.left ?? left
    if (left.length === 0) return oneAnswer(act(driver.begin(driver.newSet()), []), answers)
    await driver.pause(tries)
  }
  throw contended(driver.server.name, 'Some of the jobs were changed. Call again, with fewer jobs at once.')
}

/** Those of some jobs that match a filter now: they may have changed since they were found. */
export async function selectedAmong(
  driver: RemoteDriver,
  set: WorkingSet,
  selection: Selection,
  states: ReadonlySet<JobState>,
  among: readonly string[],
): Promise<readonly string[]> {
  await driver.server.load([{ kind: 'selected', selection, states, among }], set)
  return set.selections.get(selectionName(selection, among))?.ids ?? []
}

/** One answer of many: its lists are theirs, and its error the first of one that has failed. */
export function oneAnswer<A extends object>(empty: A, answers: readonly A[]): A {
  const lists = Object.entries(empty).map(([name, value]) => {
    const all = (): unknown[] => answers.flatMap((answer) => (answer as Record<string, unknown[]>)[name] ?? [])
    return [name, Array.isArray(value) ? all() : value] as const
  })
  const failed = answers.find((answer) => 'error' in answer)
  return {
    ...(Object.fromEntries(lists) as A),
    ...(failed !== undefined && 'error' in failed && { error: failed.error }),
  }
}
