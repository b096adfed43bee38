/** Stories of deaths and their hooks: a good one, and bad ones. */
import type { JobRecord } from 'jobchart'
import { answer, uncall, type BadStory } from './history-bad-stories.ts'
import { drop, type End, type Story } from './history-story.ts'

export const hookType = 'job:dead'

/** Jobs that die by a failure and by a lost lease, one of them twice; their hooks run. */
export async function deaths(story: Story): Promise<void> {
  await death(story)
  await story.retry('a')
  await story.settle((await story.claim(1, 'job', hookType))[0], 'FAIL')
  await story.enqueue('b', { maxAttempts: 1 })
  await story.claim(1, 'job', hookType)
  await story.crash()
  await story.enqueue('c')
  await story.settle((await story.claim(1, 'job', hookType))[0])
  await runHooks(story)
}

async function death(story: Story): Promise<void> {
  await story.enqueue('a', { maxAttempts: 1 })
  await story.settle((await story.claim(1, 'job', hookType))[0], 'FAIL')
}

const hooked = async (story: Story): Promise<void> => {
  await death(story)
  await runHooks(story)
}

async function runHooks(story: Story): Promise<void> {
  for (const job of await story.claim(10, hookType)) await story.settle(job)
}

/** As if the store had one more job, which nobody has enqueued. */
function addCopy(end: End, id: string): void {
  const record = end.final.records.find((each) => each.id === 'a/dead/1') as JobRecord
  const history = record.history.map((entry) => ({ ...entry, seq: entry.seq + 1_000 }))
  end.final.records = [...end.final.records, { ...record, id, history }]
}

/** As if the death had inserted no hook: nobody was told of it, and nobody has run it. */
function lose(end: End): void {
  drop(end, 'a/dead/1')
  const [settled] = answer(end, 'settle').ok
  Object.assign(settled ?? {}, { hook: undefined })
  uncall(end, 'claim', 1)
  uncall(end, 'settle', 1)
}

const extra = (what: string, id: string): BadStory => ({
  what: `hooks: ${what}`,
  caught: ['I12', 'hooks'],
  tell: deaths,
  bend: (end) => addCopy(end, id),
})

export const badHookStories: readonly BadStory[] = [
  { what: 'hooks: a death has inserted none', caught: ['hooks'], tell: hooked, bend: lose },
  extra('the hook of a job that is done', 'c/dead/1'),
  extra('a hook that was inserted twice', 'a/dead/1.2'),
  extra('a hook of a generation that never was', 'a/dead/3'),
  extra('the hook of nobody', 'x/dead/1'),
]
