/** Tests of cases that live twice. */
import { expect, test, vi } from 'vitest'
import { differences, type Difference } from './differences.ts'
import { liveTwice, type Case } from './lives-twice.ts'

/** A test for each case. */
export function oracle(cases: readonly Case[]): void {
  test.for(cases.map((each) => [each.name, each] as const))('%s', async ([, each]) => {
    // XState's development build warns of events to actors that have ended; cases send such events on purpose.
    vi.spyOn(console, 'warn').mockReturnValue()
    const report = await liveTwice(each)
    expectSame(report?.job, report?.actor, each.differs)
    expectSame(report?.killProblems, [], each.cutDiffers)
  })
}

function expectSame(found: unknown, wanted: unknown, differs: Difference | undefined): void {
  if (differs === undefined) expect(found).toEqual(wanted)
  else expect(found, `no longer true: ${differences[differs]}`).not.toEqual(wanted)
}
