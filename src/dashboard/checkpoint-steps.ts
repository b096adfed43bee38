/** The path of a machine through its chart, from its checkpoints. */
import type { CheckpointEntry } from '../index.ts'
import type { PathStep } from '../chart/index.ts'
import { JobchartError } from '../core/errors.ts'
import { innermost, statesIn } from '../core/state-paths.ts'
import type { MachineRunner } from '../core/definition.ts'

/**
 * One step per checkpoint with a change of state. Of parallel states, those that changed.
 * @param entries oldest first
 */
export function checkpointSteps(
  entries: readonly CheckpointEntry[],
  runner: Pick<MachineRunner, 'viewAt'>,
): PathStep[] {
  const steps: PathStep[] = []
  let before: readonly string[] = []
  for (const { note, state } of entries) {
    const now = leavesAt(state, runner)
    if (now === null) continue
    const from = before.find((path) => !now.includes(path))
    const event = eventIn(note)
    for (const to of now.filter((path) => !before.includes(path))) {
      if (from !== undefined) steps.push({ from, to, ...(event !== null && { event }) })
    }
    before = now
  }
  return steps
}

function leavesAt(state: CheckpointEntry['state'], runner: Pick<MachineRunner, 'viewAt'>): string[] | null {
  const paths = statesAt(state, runner)
  return paths === null ? null : innermost(paths)
}

/** Paths of the active states, the outer ones first; null if the version that wrote them is not known here. */
export function statesAt(state: CheckpointEntry['state'], runner: Pick<MachineRunner, 'viewAt'>): string[] | null {
  try {
    return statesIn(runner.viewAt(state).value)
  } catch (error) {
    if (error instanceof JobchartError) return null
    throw error
  }
}

/** A checkpoint's note is `APPROVE → shipping`. */
const eventIn = (note: string): string | null => {
  const [event, to] = note.split(' → ')
  return to === undefined || event === undefined || event === '' ? null : event
}
