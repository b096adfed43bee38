/** The short form of the storm over machines, and what must hold for it to prove anything. */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { StormOptions } from '../command.ts'
import { report } from '../report.ts'
import { stormsMs, stormUntilSeen } from '../../harness/until-seen.ts'
import { runStorm } from '../storm.ts'
import type { Verdict } from '../verdict.ts'
import { kinds, type Kind } from './jobs.ts'
import { machineTaskOf } from './plan.ts'

const short: StormOptions = {
  store: 'sqlite',
  jobs: 0,
  machines: 30,
  kills: 0,
  zombies: 0,
  restarts: 0,
  losses: 0,
  full: 0,
  seed: 1,
  workers: 3,
  producers: 2,
  leaseMs: 1_000,
  folder: null,
}

async function storm(options: Partial<StormOptions>): Promise<Verdict> {
  const verdict = await runStorm({ ...short, ...options }, () => {})
  onTestFinished(() => rm(verdict.folder, { recursive: true, force: true }))
  return verdict
}

test(
  'machines keep their promises while processes die',
  async () => {
    const byChance = ['selfKilled', 'rescues', 'unknown', 'repeated', 'workAgain', 'done', 'cancelled', 'dead'] as const
    const unseen = await stormUntilSeen(byChance, async (seed) => {
      const verdict = await storm({ machines: 55, jobs: 20, kills: 3, seed })
      expect(verdict.broken, report(verdict)).toEqual([])
      const { figures, machines } = verdict
      expect(figures.killed).toBe(3)
      expect(machines?.messages).toBeGreaterThan(250)
      expect(existsSync(verdict.folder)).toBe(false)
      const { repeated = 0, workAgain = 0, ended } = machines ?? {}
      return { ...figures, repeated, workAgain, ...ended }
    })
    expect(unseen).toEqual([])
  },
  stormsMs,
)

test('stores that lose what machines were told are found out', async () => {
  const verdicts = await Promise.all(
    ['careless', 'torn'].map((store) => storm({ store, machines: 20, workers: 2, producers: 1 })),
  )
  for (const verdict of verdicts) {
    const ofLetters = verdict.broken.filter(({ promise }) => promise === 'messages').map(({ message }) => message)
    expect(ofLetters.join('\n'), report(verdict)).toMatch(/it was told \d numbers and has heard/)
  }
})

test('the plan has every kind of machine, and a cancel for some that take it and some that do not', () => {
  const tasks = Array.from({ length: 2_000 }, (_, n) => machineTaskOf(n, short))
  const count = (kind: Kind): number => tasks.filter((task) => task.kind === kind).length
  for (const kind of Object.keys(kinds) as Kind[]) {
    expect(count(kind), kind).toBeGreaterThan(kind.startsWith('poisonous') ? 5 : 100)
  }
  const cancelled = Map.groupBy(
    tasks.filter(({ cancelAfter }) => cancelAfter !== null),
    ({ kind }) => kind,
  )
  expect(cancelled.get('compensating')?.length).toBeGreaterThan(100)
  expect(cancelled.get('fan-3')?.length).toBeGreaterThan(10)
  expect(tasks.map(({ id }) => id)).toEqual(tasks.map((_, n) => `m${n}`))
})
