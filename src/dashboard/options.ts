/** The options of a dashboard, and their checks. */
import type { Client, Runtime } from '../index.ts'
import { byDefault, fn, orNull, table, text, where, withMethods, type RulesOf } from '../core/checks.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { Graphs } from './graphs.ts'
import { Push, pushOptions, type PushOptions } from './push.ts'
import type { Redact } from './redaction.ts'
import { AccessToken } from './token.ts'
import type { TroubleReport } from './trouble-watch.ts'

/** `read` sees everything; `admin` may also retry, cancel, discard, send, fork and pause. */
export type Role = 'admin' | 'read'

/** A change requested through the dashboard. */
export interface AuditEntry {
  /** ms since the epoch, by the store's clock. */
  readonly at: number
  readonly action:
    'retry' | 'cancel' | 'discard' | 'send' | 'fork' | 'pause' | 'resume' | 'trigger' | 'stop' | 'merge' | 'split'
  /**
   * The id of a job, ids, a filter, the type of a queue, `{ schedule }`, `{ bulk }`, the id of a bulk operation, or of
   * groups of failures `{ type, fingerprints }`.
   */
  readonly target: unknown
  /** The report of the action; if it was refused, its error. */
  readonly outcome: unknown
  /** The request, for example to read the user from its headers. Its body has been read. */
  readonly request: Request
}

/** Options of `createDashboard`. */
export interface DashboardOptions {
  /** The runtime to show; or pass `client`. */
  readonly runtime?: Runtime
  /** The client to show; or pass `runtime`. */
  readonly client?: Client
  /**
   * Returns the role of the user, or the response that refuses the request (401, or a redirect to a login). Without
   * `authorize`, the dashboard answers only requests to a loopback address that carry its token, as admin.
   */
  readonly authorize?: (request: Request) => Role | Response | Promise<Role | Response>
  /**
   * Removes data that must not be shown, before it leaves the process. Its argument is a record, or the part of one
   * that is shown; `checkpoint.context` is the context of the machine. For a schedule it is the record of its jobs,
   * with an empty id. What it changes in the input is hidden in the context and the output as well, and filters by what
   * it changes are refused. `redactKeys` makes one from the names of what may be shown.
   * @example redact: (job) => ('input' in job ? { ...job, input: '(hidden)' } : job)
   */
  readonly redact?: Redact
  /** Shown in the page and its tab. 1…100 characters, default `'jobchart'`. */
  readonly title?: string
  /** Called after each change was made or refused. If it throws, the request fails, but the change stays. */
  readonly onAudit?: (entry: AuditEntry) => unknown
  /**
   * Called when something is no longer as usual, or is again: a queue without a worker, more dead jobs than the day
   * before, a tick that was not fired (see `TroubleKind`). It is looked at every `troubleEvery`, as long as the client
   * or the runtime is open, whether anybody looks at the page or not. What it throws is logged.
   * @example onTrouble: ({ began }) => began.forEach(({ text }) => pager.send(text))
   */
  readonly onTrouble?: (report: TroubleReport) => unknown
  /**
   * Tells what has begun to browsers in which no page is open: those in which a user has pressed _Notify me_. Without
   * it, a browser tells of it while the page is open. Give it to one process of several.
   * @example push: { publicKey, send: webpush.sendNotification, subscriptions: fileSubscriptions('push.json') }
   */
  readonly push?: PushOptions
  /** How often trouble is looked for, if `onTrouble` or `push` is given. At least 1 s, default `'30s'`. */
  readonly troubleEvery?: Duration
}

export interface DashboardSettings {
  readonly client: Client
  /** The same client, if it is a runtime. */
  readonly runtime: Runtime | null
  readonly authorize: DashboardOptions['authorize'] | null
  /** Decides where there is no `authorize`. */
  readonly token: AccessToken
  readonly redact: Redact | null
  readonly title: string
  readonly graphs: Graphs
  readonly audit: (entry: AuditEntry) => unknown
  readonly onTrouble: NonNullable<DashboardOptions['onTrouble']> | null
  readonly push: Push | null
  readonly troubleEveryMs: number
}

const clientMethods = ['list', 'counts', 'workers', 'retry'] as const
const notClient = ['a runtime or a client', 'Use createRuntime.'] as const
const shownClient = withMethods<Client>(clientMethods, ...notClient)

const dashboardOptions = table(
  {
    runtime: withMethods<Runtime>(clientMethods, ...notClient),
    client: (value) => shownClient(value, 'runtime'),
    authorize: orNull(fn<NonNullable<DashboardOptions['authorize']>>()),
    redact: orNull(fn<Redact>()),
    title: byDefault('jobchart', text(100)),
    onAudit: byDefault(() => {}, fn<DashboardSettings['audit']>()),
    onTrouble: orNull(fn<NonNullable<DashboardOptions['onTrouble']>>()),
    push: orNull(pushOptions),
    troubleEvery: byDefault(
      30_000,
      where(durationMs, (ms) => ms >= 1_000, 'at least 1 s'),
    ),
  } satisfies RulesOf<DashboardOptions>,
  { hint: 'Pass at least a runtime: createDashboard({ runtime }).' },
)

/** @throws JobchartError INVALID_OPTION */
export function dashboardSettings(options: DashboardOptions): DashboardSettings {
  const { runtime, client, authorize, redact, title, onAudit, onTrouble, push, troubleEvery } = dashboardOptions(
    options,
    'options of createDashboard',
  )
  const shown = runtime ?? client
  if (shown === undefined || (runtime !== undefined && client !== undefined)) {
    throw invalidOption('options of createDashboard', 'either a runtime or a client', { runtime, client })
  }
  return {
    authorize,
    redact,
    title,
    client: shown,
    runtime: runtime ?? null,
    token: new AccessToken(),
    graphs: new Graphs(),
    audit: onAudit,
    onTrouble,
    push: push === null ? null : new Push(push, title),
    troubleEveryMs: troubleEvery,
  }
}
