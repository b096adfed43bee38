/** What a job costs more that has something which plain ones have not, beside plain ones in the same run. */
import type { QueueWork } from './harness/queue-work.ts'
import type { Feature } from './open-queue.ts'
import type { Comparison } from './rows.ts'

const features: Readonly<Record<Feature, string>> = {
  cap: 'a limit of the type',
  keys: '1,000 keys with a limit each',
  rate: 'a rate limit',
  tags: 'two tags',
  unique: 'a unique key',
  priorities: '10 priorities',
}

const plain = '100 slots, plain'

/** The contenders of a section, for the store that `contender` is a module of. */
export function featureVariants(
  contender: string,
  jobs: number,
): Record<string, Omit<QueueWork, 'timed' | 'types'> & { readonly contender: string }> {
  const work = { contender, mode: { by: 'batch', size: 100 }, slots: 100, jobs } as const
  return {
    [plain]: work,
    ...Object.fromEntries(
      Object.entries(features).map(([feature, name]) => [name, { ...work, feature: feature as Feature }]),
    ),
  }
}

export const featureComparisons: readonly Comparison[] = Object.values(features).map((name) => [name, plain, null])
