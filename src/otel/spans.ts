/** Ends of spans. */
import { diag, SpanStatusCode, type Span } from '@opentelemetry/api'
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
    const failed = (error: unknown): void => {
      failSpan(span, recordError(error))
      span.end()
    }
    // The error of a span is the SDK's: unhandled, it would end the process.
    result
      .then(() => span.end(), failed)
      .then(undefined, (error) => diag.error('jobchart: a span could not end', error))
  }
  return result
}
