/**
 * Cancels, retries and discards of many jobs by their ids: split into calls of bounded size, with a turn of the event
 * loop between two.
 */
import { caps } from '../core/caps.ts'
import type { Clock } from '../core/clock.ts'
import type { JobOutcome, Lists, Report } from '../core/report.ts'

/** The first call is synchronous. If a call fails, the effects of earlier calls remain. */
export async function inBatches<Name extends JobOutcome>(
  ids: readonly string[],
  act: (part: readonly string[]) => Promise<Lists<Name>>,
  report: Report<Name>,
  clock: Clock,
): Promise<void> {
  for (let done = 0; ;) {
    report.add(await act(ids.slice(done, done + caps.selection)))
    done += caps.selection
    if (done >= ids.length) return
    await new Promise<void>((resolve) => clock.nextTurn(resolve))
  }
}
