/** The inputs of the jobs that workers run, read when a user asks for the list of workers. */
import type { Clock } from '../core/clock.ts'
import type { Json } from '../core/payload.ts'
import type { Store, WorkerRecord } from '../store.ts'

export async function withInputs(
  store: Store,
  clock: Clock,
  workers: readonly WorkerRecord[],
): Promise<WorkerRecord[]> {
  const inputs = await inputsOf(store, clock, new Set(workers.flatMap(({ running }) => running.map(({ id }) => id))))
  return workers.map((worker) => ({
    ...worker,
    running: worker.running.map((run) => {
      const input = inputs.get(run.id)
      return input === undefined ? run : { ...run, input }
    }),
  }))
}

/**
 * An input may have a megabyte, and what is read in a turn holds up the process: one read after the other, since on a
 * busy machine the answers of two may be there in one turn.
 */
async function inputsOf(
  store: Store,
  clock: Clock,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Json | undefined>> {
  const inputs = new Map<string, Json | undefined>()
  for (const id of ids) {
    const [record] = await store.get([id])
    inputs.set(id, record?.input)
    await new Promise<void>((resolve) => clock.nextTurn(resolve))
  }
  return inputs
}
