/** The logger of a runtime. Any logger with these four methods fits (pino, winston, console). */

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

const silent = (): void => {}

/** The default: warnings and errors to stderr, the rest nowhere. */
export const consoleLogger: Logger = {
  debug: silent,
  info: silent,
  warn: (message, fields) => console.warn(`jobchart: ${message}`, ...(fields ? [fields] : [])),
  error: (message, fields) => console.error(`jobchart: ${message}`, ...(fields ? [fields] : [])),
}

/** A logger from any of the four methods: what a method throws is dropped, because it cannot be logged. */
export function guarded(logger: Partial<Logger>): Logger {
  const call =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void => {
      try {
        logger[level]?.(message, fields)
      } catch {
        // A broken logger must not break the runtime.
      }
    }
  return { debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}
