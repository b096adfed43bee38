/**
 * Recorded lives of machine jobs, and what changed charts make of them: tests of a deployment against what has
 * happened.
 */
import type { JobDefinition } from './definition.ts'
import type { CheckpointEntry } from './machine-record.ts'
import type { JobRecord } from './record.ts'
import type { Divergence, RecordedLife } from './recorded-life.ts'

/** What a replay has found. */
export interface ReplayReport {
  readonly lives: number
  /** Checkpoints that the new machines have reached from the one before, in the same states. */
  readonly reached: number
  /** Checkpoints without recorded events, or with more than are kept: the replay went on from them. */
  readonly skipped: number
  readonly diverged: readonly Divergence[]
  /** Types of lives that no definition with a machine has. */
  readonly unknownTypes: readonly string[]
}

/**
 * Lets the machines of these definitions, of several versions the last, live recorded lives again: their events, at
 * their times, in virtual time. Nothing is executed: what actors have answered is part of the record. States are
 * compared, contexts are not.
 * @example expect((await replayLives([orderV2], JSON.parse(readFileSync('lives.json', 'utf8')))).diverged).toEqual([])
 */
export async function replayLives(
  jobs: Iterable<JobDefinition>,
  lives: readonly RecordedLife[],
): Promise<ReplayReport> {
  const current = new Map([...jobs].map((job) => [job.type, job]))
  const report = { lives: 0, reached: 0, skipped: 0, diverged: [] as Divergence[] }
  const unknownTypes = new Set<string>()
  for (const life of lives) {
    const job = current.get(life.type)
    if (job?.machine === null || job === undefined) {
      unknownTypes.add(life.type)
      continue
    }
    const { reached, skipped, divergence } = job.machine.replay(life, await inputOf(job, life))
    report.lives++
    report.reached += reached
    report.skipped += skipped
    if (divergence !== null) report.diverged.push({ id: life.id, type: life.type, ...divergence })
  }
  return { ...report, unknownTypes: [...unknownTypes] }
}

/** A client or a runtime, as far as lives are read from it. */
interface LifeSource {
  list(query: {
    readonly type: string
    readonly limit: number
    readonly order: 'newest'
    readonly fields: readonly ('id' | 'input')[]
    readonly after?: string
  }): Promise<readonly Pick<JobRecord, 'id' | 'input'>[] & { readonly next?: string | undefined }>
  readonly store: { checkpoints(id: string): Promise<readonly CheckpointEntry[]> }
}

const livesPerPage = 100

/**
 * The lives of the jobs of these types that were enqueued last. The last 50 checkpoints of a job are kept.
 * @param max of each type, default 1,000
 */
export async function recordLives(
  client: LifeSource,
  types: readonly string[],
  max = 1_000,
): Promise<readonly RecordedLife[]> {
  const lives: RecordedLife[] = []
  for (const type of types) {
    let left = max
    let after: string | undefined
    do {
      const limit = Math.min(left, livesPerPage)
      const page = await client.list({
        type,
        limit,
        order: 'newest',
        fields: ['id', 'input'],
        ...(after !== undefined && { after }),
      })
      for (const { id, input } of page) {
        const checkpoints = await client.store.checkpoints(id)
        if (checkpoints.length > 0) lives.push({ id, type, ...(input !== undefined && { input }), checkpoints })
      }
      left -= page.length
      after = page.next
    } while (after !== undefined && left > 0)
  }
  return lives
}

/** The input as an attempt gets it; as it is stored, if the schema refuses it now. */
async function inputOf({ schema }: JobDefinition, { input }: RecordedLife): Promise<unknown> {
  if (schema === null) return input
  const result = await schema['~standard'].validate(input)
  return result.issues === undefined ? result.value : input
}
