/** The public names of `jobchart/dashboard`. */
import '../core/node-version.ts'
export { createDashboard, type Dashboard, type ListenOptions, type Listening } from './dashboard.ts'
export { fileSubscriptions } from './push-file.ts'
export type { BrowserSubscription, BrowserSubscriptions, PushOptions } from './push.ts'
export type { AuditEntry, DashboardOptions, Role } from './options.ts'
export type { Trouble, TroubleKind } from './trouble.ts'
export type { TroubleReport } from './trouble-watch.ts'
export { redactKeys, type Redact, type ShownRecord } from './redaction.ts'
