import { expect, test } from 'vitest'
import { Simulation } from './simulation.ts'

const seeds = Number(process.env['SIMULATIONS'] ?? 300)
const first = Number(process.env['SEED'] ?? 1)

test(`in ${seeds} lives with a store that fails, nothing acknowledged is lost and all drains when it is calm`, async () => {
  const totals: Record<string, number> = {}
  for (let seed = first; seed < first + seeds; seed++) {
    const { broken, seen } = await new Simulation(seed).live()
    expect(broken, `seed ${seed}; play it again with SEED=${seed} SIMULATIONS=1`).toEqual([])
    for (const [what, times] of Object.entries(seen)) totals[what] = (totals[what] ?? 0) + times
  }
  if (seeds < 100) return
  // A quiet life proves little.
  const unhappy = ['enqueue STORE_UNAVAILABLE', 'cancel STORE_UNAVAILABLE', 'cut off', 'dead', 'cancelled']
  for (const what of ['start', 'enqueue', 'cancel', 'done', ...unhappy]) {
    expect(totals[what], what).toBeGreaterThan(seeds / 10)
  }
}, 240_000)

test('a seed is the same life again', async () => {
  const lives = [await new Simulation(7).live(), await new Simulation(7).live()]
  expect(lives[0]?.trace.length).toBeGreaterThan(20)
  expect(lives[1]).toEqual(lives[0])
  expect((await new Simulation(8).live()).trace).not.toEqual(lives[0]?.trace)
})
