/** The inputs of the jobs that workers run, read when a user asks for the list of workers. */
import type { Store, WorkerRecord } from '../store.ts'

/** Jobs per call of the store. */
const readMax = 500

export async function withInputs(store: Store, workers: readonly WorkerRecord[]): Promise<WorkerRecord[]> {
  const ids = [...new Set(workers.flatMap(({ running }) => running.map(({ id }) => id)))]
  const parts = Array.from({ length: Math.ceil(ids.length / readMax) }, (_, i) =>
    ids.slice(i * readMax, (i + 1) * readMax),
  )
  const records = (await Promise.all(parts.map((part) => store.get(part)))).flat()
  const inputs = new Map(records.map((record, place) => [ids[place], record?.input]))
  return workers.map((worker) => ({
    ...worker,
    running: worker.running.map((run) => {
      const input = inputs.get(run.id)
      return input === undefined ? run : { ...run, input }
    }),
  }))
}
