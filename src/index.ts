/** The public names of jobchart. */
export { createClient, type Client } from './client.ts'
export { createRuntime, type Runtime } from './runtime.ts'
export type { RuntimeState, RuntimeStats } from './runtime-stats.ts'
export {
  defineJob,
  type ContextValues,
  type HandlerResult,
  type JobDefinition,
  type JobOptions,
  type MachineEvent,
  type MachineJobOptions,
  type Middleware,
  type RetryOptions,
  type RunContext,
} from './define-job.ts'
export { memoryStore } from './stores/memory/index.ts'
export {
  constant,
  exponential,
  linear,
  type Backoff,
  type BackoffFunction,
  type BackoffOptions,
} from './job/backoff.ts'
export { fatal, snooze } from './job/intent.ts'
export { AbortError, JobCancelledError, JobchartError, JobDeadError, TimeoutError, type ErrorCode } from './errors.ts'
export type { Clock, Random, Timer } from './clock.ts'
export type { Duration } from './job/duration.ts'
export type { ErrorRecord } from './job/failure.ts'
export type { AttemptError, CheckIn, HistoryEntry, JobEvent, JobRecord, LogLine, Transition } from './job/job.ts'
export type { JobActor, JobState } from './job/lifecycle.ts'
export type { Json } from './job/payload.ts'
export type { JobHandle, ResultOptions, Wanted } from './handle.ts'
export type { MachineView } from './hosting.ts'
export type { MachineTimer, Migrate, MigrateDetails, Migrated } from './machine-job/migration.ts'
export type { MachineVersion } from './machine-job/versions.ts'
export type { Checkpoint, CheckpointEntry, Letter, Mail } from './job/machine.ts'
export type { QueueHandle, QueueStats } from './queue.ts'
export type { Logger } from './log.ts'
export type { IterateOptions } from './flow/iterate.ts'
export type { Stream } from './flow/stream.ts'
export type {
  CancelOptions,
  DiscardReport,
  Pressure,
  RetryReport,
  CancelReport,
  DrainOptions,
  PauseOptions,
  EnqueueArguments,
  EnqueueOptions,
  RunEnqueueOptions,
  JobChoice,
  RetryFrom,
  SendOptions,
  StopOptions,
  StopReport,
  UniqueOption,
} from './call-options.ts'
export type {
  Candidate,
  ClientOptions,
  RetentionOptions,
  RuntimeOptions,
  SelectionFunction,
  SelectionOption,
} from './options.ts'
export type { Counts, JobFilter, JobPage, ListQuery, StateCounts, Store, WorkerRecord } from './store.ts'
export { fromJob, type JobActorLogic, type JobActorSnapshot, type JobHost } from './machine-job/from-job.ts'
