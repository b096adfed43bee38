/** The public names of `jobchart/dashboard`. */
export { createDashboard, type Dashboard, type ListenOptions, type Listening } from './dashboard.ts'
export type { AuditEntry, DashboardOptions, Role, ShownRecord } from './options.ts'
