/**
 * A property that cannot fail proves nothing: without the lanes, the storms must find jobs that start after their
 * cancel.
 */
import { concatMap, map, Observable, Subject, type OperatorFunction } from 'rxjs'
import { expect, test, vi } from 'vitest'
import type * as rightLanes from '../../src/worker/lanes.ts'
import type { Turn } from '../../src/worker/lanes.ts'
import { storm } from '../support/storm-world.ts'

vi.mock('../../src/worker/lanes.ts', async (importOriginal) => {
  /** As one would write it without a second thought: each command when it is delivered, then a pick. */
  class BrokenLanes {
    readonly free = new Subject<void>()

    batches<T>(): OperatorFunction<T, T[]> {
      return (commands) =>
        new Observable((out) =>
          commands.subscribe((command) => {
            queueMicrotask(() => {
              out.next([command])
              this.free.next()
            })
          }),
        )
    }

    turns<T>(): OperatorFunction<readonly T[], Turn<T>> {
      return (commands) =>
        commands.pipe(
          concatMap((each) => each),
          this.batches(),
          map((rest) => ({ rest, next: () => rest.shift() ?? null })),
        )
    }

    nudge(): void {
      queueMicrotask(() => this.free.next())
    }
  }
  return { ...(await importOriginal<typeof rightLanes>()), Lanes: BrokenLanes }
})

test('storms find the jobs that a dispatcher without lanes starts after their cancel', async () => {
  const broken: string[] = []
  for (let seed = 1; seed <= 2_000 && broken.length === 0; seed++) {
    broken.push(...(await storm(seed)).broken.filter((each) => each.includes('after its cancel')))
  }
  expect(broken).not.toEqual([])
})
