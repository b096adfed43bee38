/** `jobchart/otel`: traces and metrics by OpenTelemetry. */
import '../core/node-version.ts'
export { otel, type OtelOptions } from './otel.ts'
