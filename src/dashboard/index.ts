/** The public names of `jobchart/dashboard`. */
export { createDashboard, type Dashboard, type ListenOptions, type Listening } from './dashboard.ts'
export type { AuditEntry, DashboardOptions, Role } from './options.ts'
export { redactKeys, type Redact, type ShownRecord } from './redaction.ts'
