/** The inputs of the jobs that workers run, read when a user asks for the list of workers. */
import type { Clock } from '../core/clock.ts'
import type { Json } from '../core/payload.ts'
import type { Store, WorkerRecord } from '../store.ts'

/** Reads that are under way at once: on a busy machine their answers may all be there in one turn. */
const readsMax = 2

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

/** An input may have a megabyte, and what is read in a turn holds up the process: each job is read by itself. */
async function inputsOf(
  store: Store,
  clock: Clock,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Json | undefined>> {
  const inputs = new Map<string, Json | undefined>()
  const left = ids.values()
  const readOneByOne = async (): Promise<void> => {
    for (const id of left) {
      const [record] = await store.get([id])
      inputs.set(id, record?.input)
      await new Promise<void>((resolve) => clock.nextTurn(resolve))
    }
  }
  await Promise.all(Array.from({ length: readsMax }, readOneByOne))
  return inputs
}
