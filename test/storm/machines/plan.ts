/** What a seed decides of each machine job: its chart, what it is told, and what befalls it. */
import { seededRandom } from 'jobchart/testing'
import type { StormOptions } from '../command.ts'
import { type Kind, kinds } from './jobs.ts'
import type { MachineInput } from './parts.ts'

export interface MachineTask {
  readonly id: string
  readonly kind: Kind
  readonly input: MachineInput
  /** Before each number it is told, and before the END: how long nobody says anything. */
  readonly gapsMs: readonly number[]
  /** Numbers that are said twice, at the same time. */
  readonly twice: ReadonlySet<number>
  /** Cancelled after this number; null: not. */
  readonly cancelAfter: number | null
  /** An earlier machine that is cheered at, by somebody else than who tells it its numbers. */
  readonly cheers: string | null
}

export const machineId = (n: number): string => `m${n}`

/** Every so many-th machine is poisonous. */
export const poisonousEvery = 100
/** How often it is tried: 1, 2 or 3 times, in turn. */
export const poisonousAttempts = 2

/** The nth machine; the same every time it is asked for. */
export function machineTaskOf(n: number, { seed }: StormOptions): MachineTask {
  const random = seededRandom((seed ^ Math.imul(n + 1, 0x85ebca6b)) >>> 0)
  const below = (count: number): number => Math.floor(random() * count)
  const chance = (probability: number): boolean => random() < probability
  const kind = kindOf(n, random())
  const numbers = 3 + below(6)
  const delayMs = (): number => 50 + below(kind === 'impatient' ? 500 : 1_500)
  const mayBeCancelled = { compensating: 0.5, regions: 0.1, 'fan-3': 0.15, nested: 0.05 } as Partial<
    Record<Kind, number>
  >
  return {
    id: machineId(n),
    kind,
    input: {
      delays: [delayMs(), delayMs()],
      legs: Array.from({ length: kinds[kind].legs }, () => ({ ms: 10 + below(600), dies: chance(0.05) })),
    },
    gapsMs: Array.from({ length: numbers + 1 }, () => (chance(0.3) ? 0 : below(250))),
    twice: new Set(Array.from({ length: numbers }, (_, i) => i + 1).filter(() => chance(0.1))),
    cancelAfter: chance(mayBeCancelled[kind] ?? 0) ? below(numbers) : null,
    cheers: n > 0 && chance(0.3) ? machineId(Math.max(0, n - 1 - below(10))) : null,
  }
}

function kindOf(n: number, at: number): Kind {
  if (n % poisonousEvery === poisonousEvery / 2) {
    return (['poisonous-1', 'poisonous-2', 'poisonous-3'] as const)[Math.floor(n / poisonousEvery) % 3] ?? 'poisonous-1'
  }
  const shares: readonly [Kind, number][] = [
    ['regions', 0.16],
    ['nested', 0.16],
    ['fan-2', 0.1],
    ['fan-3', 0.1],
    ['impatient', 0.1],
    ['flaky', 0.14],
    ['frail', 0.08],
  ]
  let below = 0
  for (const [kind, share] of shares) if (at < (below += share)) return kind
  return 'compensating'
}
