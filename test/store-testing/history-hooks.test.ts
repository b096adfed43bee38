/** The hooks of deaths in a history that is as it should be. */
import { expect, test } from 'vitest'
import { deaths, hookType } from './history-hook-stories.ts'
import { prune } from '../../src/store-testing/conformance/acts.ts'
import { broken, check, Story } from './history-story.ts'
import { newJob } from './new-job.ts'

async function story(): Promise<Story> {
  const told = new Story()
  await deaths(told)
  return told
}

test('a story of deaths is clean', async () => {
  const end = await (await story()).end()
  const { violations, figures } = check(end)
  expect(violations).toEqual([])
  const hooks = end.final.records.filter(({ type }) => type === hookType)
  expect(hooks.map(({ id }) => id)).toEqual(['a/dead/1', 'a/dead/2', 'b/dead/1'])
  expect(figures.jobs).toBe(6)
})

test('a hook whose settle was not answered is known by its record', async () => {
  const end = await (await story()).end()
  const first = end.lines.find((line) => line.op === 'settle')
  end.lines = end.lines.filter((line) => line.call !== first?.call || 'invoke' in line)
  expect(check(end).violations).toEqual([])
})

test('hooks that were pruned are not missed', async () => {
  const told = await story()
  const none = { ageMs: 0, count: 0 }
  await prune(told.store, { done: none, dead: none, cancelled: none }, 100)
  expect(check(await told.end()).violations).toEqual([])
})

test('a job that nobody enqueued is no hook because of its id', async () => {
  const told = new Story()
  await told.bare.insert([{ jobs: [newJob('a/dead/1')], capacity: null }])
  expect(broken(await told.end())).toContain('I1')
})
