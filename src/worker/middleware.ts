/** Calls middleware around a handler, the outermost first, and determines the output. */
import type { Middleware, RunContext } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'

interface MiddlewareOptions {
  readonly middleware: readonly Middleware[]
  readonly context: RunContext
  readonly handler: () => Promise<unknown>
  readonly logger: Logger
}

/**
 * The output of the outermost middleware. A middleware that returns undefined keeps the output of its `next()`.
 * @throws errors of middleware and handler; INVALID_MIDDLEWARE if one calls `next` twice, or neither calls it nor
 * returns a value
 */
export function throughMiddleware(options: MiddlewareOptions, depth = 0): Promise<unknown> {
  const middleware = options.middleware[depth]
  return middleware === undefined ? options.handler() : new Layer(options, middleware, depth).run()
}

/** One middleware of one attempt. */
class Layer {
  private inner: Promise<unknown> | null = null
  private pending = false
  private innerOutput: unknown
  private calledTwice = false
  private readonly options: MiddlewareOptions
  private readonly middleware: Middleware
  private readonly depth: number

  constructor(options: MiddlewareOptions, middleware: Middleware, depth: number) {
    this.options = options
    this.middleware = middleware
    this.depth = depth
  }

  async run(): Promise<unknown> {
    const { context } = this.options
    let output: unknown
    try {
      output = await this.middleware(context, () => this.next())
      // A `next()` that the middleware did not await is awaited here: the attempt must not end before its handler.
      if (output === undefined && this.pending) await this.inner
    } finally {
      if (this.pending) this.ignoreInner()
    }
    if (this.calledTwice) throw this.misused('called next() more than once', 'Call next() once, and keep its promise.')
    if (output !== undefined) return output
    if (this.inner !== null) return this.innerOutput
    throw this.misused(
      'neither called next() nor returned a value, so the handler did not run',
      'Return next() to run the handler. To skip it, return a value (null for none) or throw.',
    )
  }

  private next(): Promise<unknown> {
    if (this.inner !== null) {
      this.calledTwice = true
      // The second call gets the outcome of the first: the attempt fails when the middleware has ended.
      return this.inner
    }
    this.pending = true
    this.inner = throughMiddleware(this.options, this.depth + 1).then(
      (output) => {
        this.pending = false
        return (this.innerOutput = output)
      },
      (error: unknown) => {
        this.pending = false
        throw error
      },
    )
    return this.inner
  }

  /** The middleware has ended before its inner middleware or handler: a late error is only logged. */
  private ignoreInner(): void {
    const { logger, context } = this.options
    this.inner?.catch((error: unknown) =>
      logger.warn('a handler failed after a middleware had ended its attempt', { error, id: context.id }),
    )
  }

  private misused(fault: string, hint: string): JobchartError {
    const { id, type } = this.options.context
    const name = this.middleware.name === '' ? '' : ` (${this.middleware.name})`
    return new JobchartError(
      'INVALID_MIDDLEWARE',
      `middleware ${this.depth + 1}${name} of job ${id} (${type}) ${fault}`,
      { hint },
    )
  }
}
