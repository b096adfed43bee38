/** The inputs of the jobs that workers run, read when a user asks for the list of workers. */
import type { Clock } from '../core/clock.ts'
import type { Store, WorkerRecord } from '../store.ts'

/** Jobs per call of the store. Inputs may have a megabyte each, and what is read in a turn holds up the process. */
const readMax = 4

export async function withInputs(
  store: Store,
  clock: Clock,
  workers: readonly WorkerRecord[],
): Promise<WorkerRecord[]> {
  const ids = [...new Set(workers.flatMap(({ running }) => running.map(({ id }) => id)))]
  const parts = Array.from({ length: Math.ceil(ids.length / readMax) }, (_, i) =>
    ids.slice(i * readMax, (i + 1) * readMax),
  )
  // Each call begins in a turn of its own, and waits for no other: a server has all of them on their way.
  let turn = Promise.resolve()
  const records = await Promise.all(
    parts.map((part) => {
      const read = turn.then(() => store.get(part))
      turn = turn.then(() => new Promise((resolve) => clock.nextTurn(resolve)))
      return read
    }),
  )
  const inputs = new Map(records.flat().map((record, place) => [ids[place], record?.input]))
  return workers.map((worker) => ({
    ...worker,
    running: worker.running.map((run) => {
      const input = inputs.get(run.id)
      return input === undefined ? run : { ...run, input }
    }),
  }))
}
