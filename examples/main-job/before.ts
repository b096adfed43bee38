/** What earlier starts have left: brought to the present, and counted. */
import type { Client, JobRecord } from 'jobchart'
import { definitions, idOf, jobs, type FileInput } from './jobs.ts'
import { endedBefore } from './tally.ts'
import { versionOf, walk, Walked, type Tree } from './walk.ts'

/** The file may hold jobs of others. */
export const own = { type: jobs.map(({ type }) => type) }
const ownAndReviews = { type: definitions.map(({ type }) => type) }

/** Forgets what has ended, so that it is done again. */
export async function forgetEnded(client: Client): Promise<void> {
  for (;;) {
    const ended = await client.list({ ...ownAndReviews, state: ['done', 'dead', 'cancelled'], limit: 1_000 })
    if (ended.length === 0) return
    await client.discard(ended.map(({ id }) => id))
  }
}

/** Takes back what waits for a file that has changed or gone: the walk finds it as it is now. */
export async function cancelOutdated(client: Client): Promise<void> {
  let after: string | undefined
  do {
    const page = await client.list({
      ...ownAndReviews,
      state: ['scheduled', 'queued', 'retrying', 'waiting'],
      limit: 1_000,
      ...(after !== undefined && { after }),
    })
    const outdated = await Promise.all(page.map(isOutdated))
    const ids = page.filter((_, i) => outdated[i]).map(({ id }) => id)
    if (ids.length > 0) await client.cancel(ids, { reason: 'the file has changed' })
    after = page.next
  } while (after !== undefined)
}

async function isOutdated({ input }: JobRecord): Promise<boolean> {
  const { path, version } = input as unknown as FileInput
  return (await versionOf(path)) !== version
}

/** Jobs that have ended. */
export interface Ended {
  readonly done: number
  readonly dead: number
}

export interface Survey {
  readonly files: number
  /** Jobs that had ended at the start, by type. */
  readonly ended: ReadonlyMap<string, Ended>
  /** Files all of whose jobs had. */
  readonly filesDone: number
}

export interface SurveyOptions {
  readonly client: Client
  readonly tree: Tree
  readonly startedAt: number
  /** Was nothing there at the start? */
  readonly isNew: boolean
  /** Does nobody want to know any more? */
  readonly isOver: () => boolean
}

/** Goes through the whole tree, ahead of the walk that waits for room. */
export async function survey({ client, tree, startedAt, isNew, isOver }: SurveyOptions): Promise<Survey | null> {
  const walked = new Walked()
  const ended = new Map(own.type.map((type) => [type, { done: 0, dead: 0 }]))
  let filesDone = 0
  for await (const files of walk(tree, walked)) {
    if (isOver()) return null
    if (isNew) continue
    const ids = files.flatMap((file) => jobs.map(({ type }) => idOf(type, file)))
    const records = await client.store.get(ids)
    const endedIds = new Set<string>()
    for (const record of records) {
      if (record === null || !endedBefore(record, startedAt) || record.state === 'cancelled') continue
      endedIds.add(record.id)
      const counts = ended.get(record.type)
      if (counts !== undefined) counts[record.state === 'dead' ? 'dead' : 'done']++
    }
    filesDone += files.filter((file) => jobs.every(({ type }) => endedIds.has(idOf(type, file)))).length
  }
  return { files: walked.files, filesDone, ended }
}
