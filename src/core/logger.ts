/**
 * The logger of a runtime: the four methods, of an own object or of a known logger, each of which takes message and
 * fields in its own way.
 */
import { recordError } from './failure.ts'

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
  warn: (message, fields) => console.warn('%s', `jobchart: ${message}`, ...(fields ? [fields] : [])),
  error: (message, fields) => console.error('%s', `jobchart: ${message}`, ...(fields ? [fields] : [])),
}

type Level = keyof Logger
type Fields = Record<string, unknown>
/** Any method of any logger; called with what its kind takes. */
type Method = (...args: unknown[]) => unknown

/** The arguments of a method, by the kind of its logger. */
const argumentsFor = {
  plain: (message: string, fields?: Fields) => (fields === undefined ? [message] : [message, fields]),
  // As text a message with a percent sign is no format, which would take the fields for its values.
  console: (message: string, fields?: Fields) => ['%s', message, ...(fields === undefined ? [] : [fields])],
  // Fields first; so does what is made of it: the `log` of Fastify.
  pino: (message: string, fields?: Fields) => [readable(fields), message],
  // In one object: of two arguments it would put the fields into a message with a percent sign.
  winston: (message: string, fields?: Fields) => [{ ...readable(fields), message }],
}

/** A logger from any of the four methods: what a method throws is dropped, because it cannot be logged. */
export function guarded(logger: Partial<Logger>): Logger {
  const made = argumentsFor[kindOf(logger)]
  const call =
    (level: Level) =>
    (message: string, fields?: Fields): void => {
      try {
        const method = logger[level] as Method | undefined
        method?.apply(logger, made(message, fields))
      } catch {
        // A broken logger must not break the runtime.
      }
    }
  return { debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') }
}

/**
 * Known by methods that only it has: a child of a logger, or one of another copy of its module, is of no class that we
 * know.
 */
function kindOf(logger: Readonly<Record<string, unknown>>): keyof typeof argumentsFor {
  const has = (...methods: readonly string[]): boolean => methods.every((name) => typeof logger[name] === 'function')
  if (has('bindings', 'child')) return 'pino'
  if (has('configure', 'profile', 'child')) return 'winston'
  return has('table', 'dir', 'group') ? 'console' : 'plain'
}

/** Fields whose errors are plain objects: JSON of an error is `{}`. */
function readable(fields: Fields = {}): Fields {
  const entries = Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? plain(value) : value])
  return Object.fromEntries(entries) as Fields
}

const plain = (error: Error): object => ({
  ...recordError(error),
  ...('hint' in error && typeof error.hint === 'string' && { hint: error.hint }),
})
