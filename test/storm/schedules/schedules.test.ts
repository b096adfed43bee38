/** The short form of `npm run storm:schedules`. */
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { stormSchedules } from './storm.ts'

test('three processes that fire schedules of every second on one file make one job per tick', async () => {
  const { path: folder, ...kept } = temporaryFolder()
  onTestFinished(() => kept.remove())
  const report = await stormSchedules({ folder, processes: 3, seconds: 4, killEverySeconds: 0, seed: 1 })
  expect(report.faults).toEqual([])
  expect(report.ticks['cron']).toBeGreaterThanOrEqual(4)
  expect(report.ticks['even']).toBeGreaterThanOrEqual(2)
  expect(report.ticks['computed']).toBeGreaterThanOrEqual(4)
}, 60_000)
