/** The options of a dashboard, and their checks. */
import type { Client, JobRecord, Runtime } from '../index.ts'
import { checkFunction, checkKeys, checkMethods, checkText } from '../core/checks.ts'
import { invalidOption } from '../core/errors.ts'

/** `read` sees everything; `admin` may also retry, cancel, discard, send, fork and pause. */
export type Role = 'admin' | 'read'

/** A job as the dashboard reads it: its full record, or the fields of a list. */
export type ShownRecord = Partial<JobRecord> & Pick<JobRecord, 'id' | 'type'>

/** A change requested through the dashboard. */
export interface AuditEntry {
  /** ms since the epoch, by the store's clock. */
  readonly at: number
  readonly action: 'retry' | 'cancel' | 'discard' | 'send' | 'fork' | 'pause' | 'resume' | 'trigger' | 'stop'
  /** The id of a job, ids, a filter, the type of a queue, `{ schedule }`, or `{ bulk }`, the id of a bulk operation. */
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
   * Returns the role of the user, or the response that refuses the request (401, or a redirect to a login). Without `authorize`, the
   * dashboard answers only requests to a loopback address, as admin.
   */
  readonly authorize?: (request: Request) => Role | Response | Promise<Role | Response>
  /**
   * Removes data that must not be shown, before it leaves the process. Its argument is a record, or the part of one that is shown;
   * `checkpoint.state` is the context of the machine. For a schedule it is the input of its jobs, with an empty id.
   * @example redact: (job) => ('input' in job ? { ...job, input: '(hidden)' } : job)
   */
  readonly redact?: (record: ShownRecord) => ShownRecord
  /** Shown in the page and its tab. 1…100 characters, default `'jobchart'`. */
  readonly title?: string
  /** Called after each change was made or refused. If it throws, the request fails, but the change stays. */
  readonly onAudit?: (entry: AuditEntry) => void | Promise<void>
}

export interface DashboardSettings {
  readonly client: Client
  /** The same client, if it is a runtime. */
  readonly runtime: Runtime | null
  readonly authorize: DashboardOptions['authorize'] | null
  readonly redact: ((record: ShownRecord) => ShownRecord) | null
  readonly title: string
  readonly audit: (entry: AuditEntry) => void | Promise<void>
}

/** A record, or a part of one, as it may leave the process. */
export function redacted<Shown extends ShownRecord>({ redact }: DashboardSettings, record: Shown): Shown {
  return redact === null ? record : (redact(record) as Shown)
}

const keys = ['runtime', 'client', 'authorize', 'redact', 'title', 'onAudit'] as const

/** @throws JobchartError INVALID_OPTION */
export function dashboardSettings(options: DashboardOptions): DashboardSettings {
  checkKeys('options of createDashboard', options, keys, 'Pass at least a runtime: createDashboard({ runtime }).')
  const { runtime, client, authorize, redact, title = 'jobchart', onAudit } = options
  const shown = runtime ?? client
  if (shown === undefined || (runtime !== undefined && client !== undefined)) {
    throw invalidOption('options of createDashboard', 'either a runtime or a client', { runtime, client })
  }
  checkMethods('runtime', shown, ['list', 'counts', 'workers', 'retry'], 'a runtime or a client', 'Use createRuntime.')
  for (const [name, value] of Object.entries({ authorize, redact, onAudit })) {
    if (value !== undefined) checkFunction(name, value)
  }
  return {
    client: shown,
    runtime: runtime ?? null,
    authorize: authorize ?? null,
    redact: redact ?? null,
    title: checkText('title', title, 100),
    audit: onAudit ?? (() => {}),
  }
}
