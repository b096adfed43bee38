/** Random charts that live once as an actor and once as a job; thousands of them are a part of the proof. */
import { expect, test, vi } from 'vitest'
import { liveChartsTwice } from './random-charts.ts'

test('random charts live the same twice, also when they are killed', async () => {
  vi.spyOn(console, 'warn').mockReturnValue()
  const firstSeed = 1 + Math.floor(Math.random() * 1e9)
  const { lived, failures } = await liveChartsTwice({ firstSeed, charts: 150, killsEach: 1 })
  expect(failures).toEqual([])
  expect(lived, `of the seeds from ${firstSeed}`).toBeGreaterThan(20)
})
