/**
 * Changes of jobs that others work on. A change of many jobs is one commit, on the condition that all of them are as
 * they were read; of a queue that is worked on, one of them mostly is not. Then each job has a condition of its own, in
 * one script: those that have changed meanwhile are left, and are judged again.
 */
import type { JobState } from '../../core/lifecycle.ts'
import type { Selection } from '../../store.ts'
import type { Reply } from './connection.ts'
import type { Driver } from './driver.ts'
import { contended, numbered, roundsMax } from '../remote/driver.ts'
import { planOf } from './plan.ts'
import type { RemoteUnit } from '../remote/unit.ts'
import { selectionName, WorkingSet, type SelectedIds } from '../remote/working-set.ts'

/** What is the same for all jobs of a script. */
interface Script {
  /** What must hold, as a plan; the epoch is added. */
  readonly head?: object
  /** A record of what became of the jobs: a field of a hash. */
  readonly progress?: { readonly key: string; readonly field: string; readonly counts: object; readonly rest: string }
}

interface Outcome<A> {
  /** The answers of the jobs that were changed, or that needed no change. */
  readonly done: readonly A[]
  /** The jobs that have changed meanwhile. */
  readonly left: readonly string[]
}

/**
 * Changes jobs one by one in one script.
 * @param outcomesOf what the record of the progress counts of a job
 * @returns null if what must hold for all does not: then nothing was written
 */
export async function commitEach<A>(
  driver: Driver,
  set: WorkingSet,
  ids: readonly string[],
  act: (unit: RemoteUnit) => A,
  { head = {}, progress }: Script,
  outcomesOf: (answer: A) => readonly string[] = () => [],
): Promise<Outcome<A> | null> {
  const { epoch } = driver
  const jobs = await driver.operateEach(act, set, ids)
  const done: A[] = []
  const writing = jobs.flatMap(({ id, unit, answer }) => {
    const { plan, writes } = planOf(unit, driver.keys)
    const outcomes = outcomesOf(answer)
    if (!writes && outcomes.length === 0) {
      done.push(answer)
      return []
    }
    return [{ id, unit, answer, plan: { ...plan, job: id, ...(outcomes.length > 0 && { outcomes }) } }]
  })
  if (writing.length === 0 && progress === undefined) return { done, left: [] }
  const request = { head: { ...head, epoch }, ...(progress && { progress }), ...plansOf(writing) }
  const [outcome, bases] = await driver.run('commitEach', [JSON.stringify(request)])
  if (outcome === 'stale') {
    await driver.greet()
    return null
  }
  const left: string[] = []
  for (const [i, { id, unit, answer }] of writing.entries()) {
    const base = (bases as readonly Reply[])[i]
    if (base === '') {
      driver.leased.forget(id)
      left.push(id)
    } else {
      driver.wrote(unit, Number(base))
      done.push(numbered(answer, Number(base)))
    }
  }
  return { done, left }
}

/** An empty list would not be told from an object by the script's JSON. */
const plansOf = (writing: readonly { readonly plan: object }[]): object =>
  writing.length === 0 ? {} : { plans: writing.map(({ plan }) => plan) }

/**
 * Changes the jobs of a page one by one until none is left.
 * @param page null: the ids of the selection
 */
export async function changeEach<A extends object>(
  driver: Driver,
  selection: Selection,
  states: ReadonlySet<JobState>,
  page: SelectedIds | null,
  act: (unit: RemoteUnit) => A,
): Promise<A> {
  const answers: A[] = []
  let left = page?.ids ?? ('ids' in selection ? [...new Set(selection.ids)] : [])
  for (let tries = 0; tries < roundsMax.commit; tries++) {
    const set = new WorkingSet()
    const ids = page === null ? left : await selectedAmong(driver, set, { ...selection, after: page.end }, states, left)
    const outcome = await commitEach(driver, set, ids, act, {})
    answers.push(...(outcome?.done ?? []))
    left = outcome?.left ?? left
    if (left.length === 0) return joined(driver, act, answers, page?.next ?? null)
    await driver.pause(tries)
  }
  throw contended('Redis', 'Some of the jobs were changed. Call again, with fewer jobs at once.')
}

/** Those of some jobs that match a selection by filter now: they may have changed since they were found. */
export async function selectedAmong(
  driver: Driver,
  set: WorkingSet,
  selection: Selection,
  states: ReadonlySet<JobState>,
  among: readonly string[],
): Promise<readonly string[]> {
  await driver.load([{ kind: 'selected', selection, states, among }], set)
  return set.selections.get(selectionName(selection, among))?.ids ?? []
}

/**
 * One answer of many: its lists are theirs, its cursor is that of the page, and its error the first of one that has
 * failed.
 */
function joined<A extends object>(
  driver: Driver,
  act: (unit: RemoteUnit) => A,
  answers: readonly A[],
  next: string | null,
): A {
  const empty = act(driver.unitOf(new WorkingSet(), { ids: [], next }))
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
