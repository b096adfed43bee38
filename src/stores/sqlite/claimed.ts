/** A claimed job, as its worker gets it, made of what has left the engine. */
import { JobMachine } from '../../core/job-row.ts'
import type { JobMeta, JobRecord } from '../../core/record.ts'
import type { Json } from '../../core/payload.ts'
import type { ClaimedJob } from '../../store.ts'
import type { ClaimedMachine, ClaimedRow } from './claim.ts'
import type { PackedStep, RowValues } from './columns.ts'
import { Queue } from './queue.ts'
import { checkpointOf, inboxOf, recordOf } from './record.ts'
import { rowOf, type Lease, type StoredOptions } from './row.ts'

/** A value from a column with JSON. */
export const parsed = <T>(text: string | null, otherwise: T): T => (text === null ? otherwise : (JSON.parse(text) as T))

/** Its record is made when it is asked for: most handlers never do. */
export function claimed({ values, type, attempt, maxAttempts, lease, kept, steps }: ClaimedRow): ClaimedJob {
  return {
    id: values[1],
    type,
    input: parsed<Json | undefined>(values[6], undefined),
    priority: values[3],
    concurrencyKey: values[8],
    attempt,
    maxAttempts,
    generation: values[12] === null ? 1 : (values[15] ?? 1),
    token: lease.token,
    startedAt: lease.tick.at,
    seq: lease.seq,
    steps: unpackedSteps(steps),
    pins: parsed<StoredOptions>(values[11], {}).pins ?? null,
    meta: parsed<JobMeta | null>(values[10], null),
    checkpoint: kept === null ? null : checkpointOf(kept.machine, kept.checkpoint),
    inbox: kept === null ? [] : inboxOf(kept.inbox),
    version: kept === null ? null : kept.machine.version,
    record: () => ({ ...recordFrom(values, type, lease, kept), maxAttempts }),
  }
}

function recordFrom(values: RowValues, type: string, lease: Lease, kept: ClaimedMachine | null): JobRecord {
  const machine = kept === null ? null : Object.assign(new JobMachine(null), kept.machine)
  const row = rowOf(values, new Queue(values[2], type), () => machine, lease)
  return recordOf(row, kept ?? { checkpoint: null, inbox: [] })
}

const unpackedSteps = (steps: readonly PackedStep[]): Readonly<Record<string, Json>> | null =>
  steps.length === 0 ? null : Object.fromEntries(steps.map(([name, result]) => [name, JSON.parse(result) as Json]))
