/** Was the machine quiet? */
import type { Sample } from '../suite.ts'

/** A machine of which less is in use before a measurement is quiet. */
const quietMax = 0.1

export function quietLine(samples: readonly Sample[]): string {
  const disturbed = samples.filter(({ busy }) => busy > quietMax)
  if (disturbed.length === 0) return `quiet: no other work before any of ${samples.length} measurements`
  const most = Math.round(Math.max(...disturbed.map(({ busy }) => busy)) * 100)
  return `not quiet: before ${disturbed.length} of ${samples.length} measurements others used the machine, up to ${most} %`
}
