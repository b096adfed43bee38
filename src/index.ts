/** The public names of jobchart. */
import './core/node-version.ts'
export type { Client, ClosableClient } from './api/client.ts'
export type { Runtime } from './api/runtime.ts'
export { createClient, createRuntime } from './api/create.ts'
export type { RuntimeState, RuntimeStats } from './api/runtime-stats.ts'
export {
  enqueueTo,
  runJob,
  type EnqueueToOptions,
  type RunJobOptions,
  type StreamJob,
  type StreamOptions,
} from './api/event-streams.ts'
export {
  defineJob,
  type BatchJobOptions,
  type DeadHookOptions,
  type BatchOptions,
  type JobOptions,
  type MachineJobOptions,
  type ThreadJobOptions,
} from './api/define-job.ts'
export {
  thread,
  type ThreadContext,
  type ThreadHandler,
  type ThreadModule,
  type ThreadOptions,
} from './core/thread-module.ts'
export type {
  BatchContext,
  BatchItem,
  BatchResult,
  ContextValues,
  HandlerResult,
  JobDefinition,
  Middleware,
  RetryOptions,
  RunContext,
  RunWithin,
  StepOptions,
} from './core/definition.ts'
export type { JsonMachine, MachineEvent, MachineTypes, StatePath } from './core/machine-record.ts'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/index.ts'
export {
  constant,
  exponential,
  linear,
  type Backoff,
  type BackoffFunction,
  type BackoffOptions,
} from './core/backoff.ts'
export { fatal, snooze } from './core/intent.ts'
export {
  AbortError,
  JobCancelledError,
  JobchartError,
  JobDeadError,
  TimeoutError,
  type ErrorCode,
} from './core/errors.ts'
export type { Clock, Random, Timer } from './core/clock.ts'
export { duration, type Duration } from './core/duration.ts'
export { typed } from './core/typed.ts'
export type { ErrorRecord } from './core/failure.ts'
export type { DeadJob } from './core/death.ts'
export type {
  AttemptError,
  CheckIn,
  EnqueueEvent,
  HistoryEntry,
  JobEvent,
  JobMeta,
  JobRecord,
  LogEvent,
  LogLine,
  ReportEvent,
  Transition,
  TransitionEvent,
} from './core/record.ts'
export type {
  ActorInspection,
  EventInspection,
  Inspect,
  MachineInspection,
  SnapshotInspection,
} from './core/inspection.ts'
export type { Within, WithinEnqueueOptions } from './api/within.ts'
export type {
  BetterSqlite3Database,
  DrizzleSqliteTransaction,
  DrizzleTransaction,
  KnexTransaction,
  KyselyQuery,
  KyselyTransaction,
  NodeSqliteDatabase,
  OpenTransaction,
  PgTransaction,
  PostgresJsTransaction,
  PrismaTransaction,
  SqliteDatabase,
  SynchronousTransaction,
  TypeOrmQueryRunner,
  TypeOrmTransaction,
} from './core/open-transaction.ts'
export type { JobActor, JobState } from './core/lifecycle.ts'
export type { Json } from './core/payload.ts'
export type { EnqueueOutcome, JobHandle, JobSnapshot, ResultOptions, WaitCondition } from './core/handle.ts'
export type { MachineView, PendingTimer } from './core/machine-record.ts'
export type { MachineTimer, Migrate, MigrateDetails, Migrated, PersistedSnapshotFrom } from './machine-job/migration.ts'
export { MachineError, type MachineProblem } from './machine-job/check-machine.ts'
export type { MachineVersion } from './machine-job/versions.ts'
export type { Checkpoint, CheckpointEntry, InboxMessage, InboxEntry, Unsupported } from './core/machine-record.ts'
export type { KeyedQueueStats, KeyStats, QueueHandle, QueueRates, QueueStats } from './api/queue-handle.ts'
export type { Activity, ActivityOptions } from './core/activity-options.ts'
export type { HeatPeriod } from './core/figures.ts'
export type { ChartHeat, HeatOptions, StateHeat, TransitionHeat } from './core/heat.ts'
export type { Logger } from './core/logger.ts'
export type { Telemetry, TraceContext } from './core/telemetry.ts'
export type { IterateOptions } from './core/stream.ts'
export type { Stream } from './core/stream.ts'
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
  JobSelector,
  RetryFrom,
  SendOptions,
  StartOptions,
  StopOptions,
  StopReport,
  UniqueOption,
  UniqueSettings,
  WorkersOptions,
} from './core/call-options.ts'
export type { BulkOperations, BulkRequest, BulkRunOptions } from './core/bulk-options.ts'
export type { BulkAnswer, BulkChange, BulkOperation, BulkOutcome, BulkState } from './core/bulk-record.ts'
export type { ListOptions } from './core/filter.ts'
export type { FindHit, FindKind, FindOptions, FindOther, FindResult, FindSearched } from './core/find.ts'
export {
  schedule,
  type RemoveScheduleOptions,
  type ScheduleArguments,
  type ScheduleDefinition,
  type ScheduleHandle,
  type ScheduleInput,
  type ScheduleOptions,
  type ScheduleRecord,
  type Tick,
} from './core/schedule-options.ts'
export type { CatchUp, Overlap } from './core/schedule-record.ts'
export type { ScheduleSpec } from './core/tick-times.ts'
export type { MergedFailureGroup } from './core/failure-merges.ts'
export type { Candidate, SelectionFunction, SelectionOption } from './core/settings.ts'
export type { ClientOptions, RuntimeOptions } from './api/options.ts'
export type { RetentionOptions, StatesRetention } from './api/retention.ts'
export type {
  ActivityBucket,
  ActivityFigures,
  ActivityPeriod,
  Counts,
  FailureGroup,
  FailureQuery,
  JobFilter,
  JobPage,
  JobSummary,
  ListQuery,
  Rates,
  StateCounts,
  Store,
  TransitionEntry,
  WorkerRecord,
} from './store.ts'
export {
  durable,
  type DurableAttempt,
  type DurableOptions,
  type DurableScope,
  type DurableSnapshot,
} from './machine-job/durable.ts'
export type { EnqueueCall, EnqueueCallOptions, EnqueueMiddleware } from './core/enqueue-call.ts'
export {
  fromJob,
  type FromJobOptions,
  type JobActorLogic,
  type JobActorSnapshot,
  type JobEnqueuer,
} from './machine-job/from-job.ts'
