/** Where lines of the log of a job go as log records. `Logger` of `@opentelemetry/api-logs` fits it. */
import type { AttributeValue, Context } from '@opentelemetry/api'

export interface LogSink {
  emit(record: {
    readonly body: string
    readonly severityNumber: number
    readonly severityText: string
    readonly attributes: Record<string, AttributeValue>
    readonly context: Context
  }): void
}

/** INFO in the data model of logs. */
const severity = { severityNumber: 9, severityText: 'INFO' } as const

export const logRecord = (
  body: string,
  attributes: Record<string, AttributeValue>,
  context: Context,
): Parameters<LogSink['emit']>[0] => ({ body, ...severity, attributes, context })

/** Attributes have no objects: those of a line are JSON. */
export function logAttributes(fields: Readonly<Record<string, unknown>> | undefined): Record<string, AttributeValue> {
  const entries = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([key, value]) => [key, isPrimitive(value) ? value : JSON.stringify(value)]))
}

const isPrimitive = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
