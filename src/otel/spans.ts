/** Ends of spans. */
import { SpanStatusCode, type Span } from '@opentelemetry/api'
import { recordError, type ErrorRecord } from '../core/failure.ts'
import { isThenable } from '../core/thenable.ts'
import { attribute, errorType } from './attributes.ts'

/** Marks a span as failed, with the error. */
export function failSpan(span: Span, error: ErrorRecord): void {
  const { name, message, stack } = error
  span.setStatus({ code: SpanStatusCode.ERROR, message })
  span.setAttribute(attribute.errorType, errorType(error))
  span.recordException({ name, message, ...(stack !== undefined && { stack }) })
}

/** Calls `work`, and ends the span with it, or with the promise that it gives. */
export function endingWith<T>(span: Span, work: () => T): T {
  let result: T
  try {
    result = work()
  } catch (error) {
    failSpan(span, recordError(error))
    span.end()
    throw error
  }
  if (!isThenable(result)) span.end()
  else {
    result.then(
      () => span.end(),
      (error: unknown) => {
        failSpan(span, recordError(error))
        span.end()
      },
    )
  }
  return result
}
