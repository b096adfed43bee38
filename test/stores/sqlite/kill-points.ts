/**
 * Death at every statement: the script is played in a process that is killed before or after a statement. What it was
 * answered must be in the file, what it was about to do wholly or not at all, and whoever opens the file next must be
 * able to go on to the very same end.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { runProgram } from '../../harness/processes.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { complaintsAbout, contentsOf } from './consistency.ts'
import { playerOn, script } from './script.ts'

export interface Reference {
  /** What is in the file when so many steps are done. */
  readonly contents: readonly string[]
  readonly answers: readonly string[]
  /** Moments to die at: before and after each statement. */
  readonly points: number
}

/** The script as it goes when nobody dies. */
export async function playThrough(): Promise<Reference> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'jobs.db')
  let points = 0
  const { store, play } = await playerOn(path, () => points++)
  const contents = [textOf(path)]
  const answers: string[] = []
  for (const [index, { name }] of script.entries()) {
    answers.push(JSON.stringify(await play(index)))
    assert.deepEqual(complaintsAbout(path), [], name)
    contents.push(textOf(path))
  }
  await store.close()
  folder.remove()
  return { contents, answers, points }
}

/** What is in a file, for comparison. */
export const textOf = (path: string): string => JSON.stringify(contentsOf(path), null, 1)

/** Plays the script in a process of its own until it dies, at a point or at the end. @returns what it was answered */
export async function playUntilDeath(path: string, point: number | null): Promise<string[]> {
  const child = await runProgram(new URL('killed-child.ts', import.meta.url), [path, String(point)])
  if (child.signal === 'SIGKILL' && child.stderr === '') return child.stdout.split('\n').slice(0, -1)
  throw new Error(`point ${point}: the process ended with ${child.exitCode ?? child.signal}\n${child.stderr}`)
}

/** Dies at a point and looks at what is left. @throws AssertionError */
export async function dieAt(point: number, { contents, answers }: Reference): Promise<void> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'jobs.db')
  const heard = await playUntilDeath(path, point)
  const about = `killed at point ${point}, in step ${heard.length} (${script[heard.length]?.name ?? 'none'})`
  assert.deepEqual(heard, answers.slice(0, heard.length), about)
  assert.deepEqual(complaintsAbout(path), [], about)
  const found = textOf(path)
  const before = contents[heard.length]
  if (found !== before) assert.equal(found, contents[heard.length + 1] ?? before, about)
  await goOn(path, heard.length, found !== before, { contents, answers }, about)
  folder.remove()
}

/** Opens the file as whoever comes next, and plays the rest. */
async function goOn(
  path: string,
  heard: number,
  isDone: boolean,
  { contents, answers }: Pick<Reference, 'contents' | 'answers'>,
  about: string,
): Promise<void> {
  const { store, play } = await playerOn(path)
  const again = script[heard]?.again ?? null
  if (isDone && again !== null) {
    const answer = JSON.stringify(await play(heard))
    if (again === 'same answer') assert.equal(answer, answers[heard], about)
    assert.equal(textOf(path), contents[heard + 1], `${about}: asked again`)
  }
  for (let index = heard + Number(isDone); index < script.length; index++) {
    assert.equal(JSON.stringify(await play(index)), answers[index], `${about}: went on`)
  }
  await store.close()
  assert.equal(textOf(path), contents.at(-1), `${about}: at the end`)
  assert.deepEqual(complaintsAbout(path), [], `${about}: at the end`)
}

/**
 * Dies at each of these points, a few at a time.
 * @param died is called before each death, with how many were before it
 * @returns what was wrong, by point
 */
export async function dieAtEach(
  points: readonly number[],
  reference: Reference,
  atOnce: number,
  died: (before: number) => void = () => {},
): Promise<Map<number, unknown>> {
  const left = [...points]
  const wrong = new Map<number, unknown>()
  const one = async (): Promise<void> => {
    for (let point = left.shift(); point !== undefined; point = left.shift()) {
      died(points.length - left.length - 1)
      await dieAt(point, reference).catch((error: unknown) => wrong.set(point, error))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return wrong
}
