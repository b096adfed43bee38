import { expect, test } from 'vitest'
import { isLong } from '../../harness/long-form.ts'
import { storm } from '../../support/storm-world.ts'

const runs = isLong ? 10_000 : 400

test(`in ${runs} storms nothing starts after its cancel or a stop was asked for, and no cap is exceeded`, async () => {
  const totals: Record<string, number> = {}
  for (let seed = 1; seed <= runs; seed++) {
    const { broken, seen } = await storm(seed)
    expect(broken, `storm ${seed}`).toEqual([])
    for (const [what, times] of Object.entries(seen)) totals[what] = (totals[what] ?? 0) + times
  }
  // A storm in which little happens proves little.
  for (const what of ['start', 'cancel', 'cancel by type', 'stop', 'pause', 'slots']) {
    expect(totals[what], what).toBeGreaterThan(runs / 10)
  }
})
