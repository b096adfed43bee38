/** What the API answers, as its callers see it. */
import type { JobRecord, JobSummary } from 'jobchart'

export type { JobRecord, JobSummary }

export interface ShownJob {
  job: JobRecord
  may: Record<string, boolean>
  machine: {
    value: unknown
    context: unknown
    tags: string[]
    states: string[]
    events: unknown[]
    timers: { event: string; label: string; at: number }[]
  } | null
  machineProblem: string | null
  checkpoints: { number: number; seq: number; value: unknown; nodes: string[] }[]
}
