/**
 * A property that cannot fail proves nothing: without the lanes, the storms must find jobs that start after their
 * cancel.
 */
import { Observable, type OperatorFunction } from 'rxjs'
import { expect, test, vi } from 'vitest'
import type { Command, DispatchOptions } from '../../src/worker/dispatch.ts'
import { storm } from '../support/storm-world.ts'

vi.mock('../../src/worker/dispatch.ts', () => ({
  /** As one would write it without a second thought: each command when it is delivered, then a pick. */
  dispatch:
    <C extends Command, P>({ handle, pick }: DispatchOptions<C, P>): OperatorFunction<C, P> =>
    (commands) =>
      new Observable((picks) =>
        commands.subscribe((command) => {
          queueMicrotask(() => {
            handle(command.lane, [command], () => false)
            const picked = pick()
            if (picked !== null) picks.next(picked)
          })
        }),
      ),
}))

test('storms find the jobs that a dispatcher without lanes starts after their cancel', async () => {
  const broken: string[] = []
  for (let seed = 1; seed <= 2_000 && broken.length === 0; seed++) {
    broken.push(...(await storm(seed)).broken.filter((each) => each.includes('after its cancel')))
  }
  expect(broken).not.toEqual([])
})
