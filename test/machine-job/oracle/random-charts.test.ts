/** Random charts that live once as an actor and once as a job; thousands of them are a part of the proof. */
import { expect, test, vi } from 'vitest'
import { isLong } from '../../harness/long-form.ts'
import { liveChartsTwice } from './random-charts.ts'

test('random charts live the same twice, also when they are killed', async () => {
  vi.spyOn(console, 'warn').mockReturnValue()
  // The same charts each time; `npm run proof -- --only charts` tries new ones.
  const firstSeed = 1
  const { lived, failures } = await liveChartsTwice({ firstSeed, charts: isLong ? 150 : 80, killsEach: 1 })
  expect(failures).toEqual([])
  expect(lived, `of the seeds from ${firstSeed}`).toBeGreaterThan(isLong ? 20 : 10)
})
