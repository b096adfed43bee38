/** Fills queues before a measurement, as fast as it goes. */
import type { EnqueueOptions, JobDefinition, JobHandle, Runtime } from '../../src/index.ts'
import type { Input } from '../contender.ts'

const chunk = 1_000

/**
 * Enqueues jobs `first` … `first + count − 1`, a chunk of each type in turn.
 * @param each called with the handle of each
 */
export async function fill(
  runtime: Runtime,
  types: readonly JobDefinition<Input, void>[],
  { first = 0, count, options }: { first?: number; count: number; options?: Omit<EnqueueOptions, 'id'> },
  each: (handle: JobHandle<void>) => void = () => {},
): Promise<void> {
  for (let done = 0, turn = 0; done < count; turn++) {
    const type = types[turn % types.length] as JobDefinition<Input, void>
    const inputs = Array.from({ length: Math.min(chunk, count - done) }, (_, i) => ({ i: first + done + i }))
    for (const handle of await runtime.enqueueMany(type, inputs, options)) each(handle)
    done += inputs.length
  }
}
