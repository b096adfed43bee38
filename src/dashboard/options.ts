/** What a dashboard is made with, checked. */
import type { Client, JobRecord, Runtime } from '../index.ts'
import { checkFunction, checkKeys, checkMethods, checkText } from '../core/checks.ts'
import { invalidOption } from '../core/errors.ts'

/** `read` sees everything; `admin` may also retry, cancel, discard, send, fork and pause. */
export type Role = 'admin' | 'read'

/** A job as the dashboard reads it: all of its record, or the fields that a list shows. */
export type ShownRecord = Partial<JobRecord> & Pick<JobRecord, 'id' | 'type'>

/** A change that was asked for through the dashboard. */
export interface AuditEntry {
  /** ms since the epoch, by the store's clock. */
  readonly at: number
  readonly action: 'retry' | 'cancel' | 'discard' | 'send' | 'fork' | 'pause' | 'resume' | 'trigger'
  /** The id of a job, ids, a filter, the type of a queue, or `{ schedule }`. */
  readonly target: unknown
  /** The report of the action; of one that was refused, its error. */
  readonly outcome: unknown
  /** Whose it is: read a user from its headers. Its body was read. */
  readonly request: Request
}

export interface DashboardOptions {
  /** What it shows: a runtime, or … */
  readonly runtime?: Runtime
  /** … a client. Exactly one of the two. */
  readonly client?: Client
  /**
   * Who may see and change what: a role, or the response for whoever may not enter (401, or a redirect to a login). Without it
   * the dashboard answers only requests to a loopback address, as admin.
   */
  readonly authorize?: (request: Request) => Role | Response | Promise<Role | Response>
  /**
   * Takes out what must not be seen, before anything leaves the process. It gets a record, or the part of one that is shown;
   * `checkpoint.state` is the context of its machine. Of a schedule it gets the input of its jobs, with an empty id.
   * @example redact: (job) => ('input' in job ? { ...job, input: '(hidden)' } : job)
   */
  readonly redact?: (record: ShownRecord) => ShownRecord
  /** Shown in the page and its tab. 1…100 characters, default `'jobchart'`. */
  readonly title?: string
  /** Is told of each change, after it was made or refused. What it throws fails the request, not the change. */
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
