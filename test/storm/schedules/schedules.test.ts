/** The short form of `npm run storm:schedules`. */
import { expect, onTestFinished, test } from 'vitest'
import { redisTest } from '../../support/redis-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { stormSchedules } from './storm.ts'

async function firesEachTickOnce(store: string): Promise<void> {
  const { path: folder, ...kept } = temporaryFolder()
  onTestFinished(() => kept.remove())
  const report = await stormSchedules({ store, folder, processes: 3, seconds: 4, killEverySeconds: 2, seed: 1 })
  expect(report.broken).toEqual([])
  expect(report.killed).toBe(1)
  expect(report.ticks['cron']).toBeGreaterThanOrEqual(4)
  expect(report.ticks['even']).toBeGreaterThanOrEqual(2)
  expect(report.ticks['computed']).toBeGreaterThanOrEqual(4)
}

test('three processes that fire schedules of every second on one file make one job per tick', () =>
  firesEachTickOnce('sqlite'))

redisTest('three processes that fire schedules of every second on Redis make one job per tick', () =>
  firesEachTickOnce('redis'),
)
