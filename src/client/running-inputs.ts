/** The inputs of the jobs that workers run, read when a user asks for the list of workers. */
import type { Clock } from '../core/clock.ts'
import type { Store, WorkerRecord } from '../store.ts'

export async function withInputs(
  store: Store,
  clock: Clock,
  workers: readonly WorkerRecord[],
): Promise<WorkerRecord[]> {
  const ids = [...new Set(workers.flatMap(({ running }) => running.map(({ id }) => id)))]
  // An input may have a megabyte, and what is read in a turn holds up the process: each job is read in a turn of its
  // own. No call waits for another, so that a server has all of them on their way.
  let turn = Promise.resolve()
  const records = await Promise.all(
    ids.map((id) => {
      const read = turn.then(() => store.get([id]))
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
