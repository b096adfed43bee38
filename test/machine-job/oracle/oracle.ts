/** Tests of cases that live twice, killed at every eighth write, and at every one in the long form. */
import { expect, test, vi } from 'vitest'
import { isLong } from '../../harness/long-form.ts'
import { differences, type Difference } from './differences.ts'
import { liveTwice, type Case } from './lives-twice.ts'

/** A test for each case. */
export function oracle(cases: readonly Case[]): void {
  test.for(cases.map((each, i) => [each.name, each, i] as const))('%s', async ([, each, i]) => {
    // XState's development build warns of events to actors that have ended; cases send such events on purpose.
    vi.spyOn(console, 'warn').mockReturnValue()
    // A case of which a kill is known to change something needs the kill that does.
    const killAt = (write: number): boolean => isLong || each.cutDiffers !== undefined || write % 8 === i % 8
    const report = await liveTwice(each, { killAt })
    expectSame(report?.job, report?.actor, each.differs)
    expectSame(report?.killProblems, [], each.cutDiffers)
  })
}

function expectSame(found: unknown, wanted: unknown, differs: Difference | undefined): void {
  if (differs === undefined) expect(found).toEqual(wanted)
  else expect(found, `no longer true: ${differences[differs]}`).not.toEqual(wanted)
}
