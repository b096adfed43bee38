/** `jobchart/otel`: traces and metrics by OpenTelemetry. */
export { otel, type OtelOptions } from './otel.ts'
