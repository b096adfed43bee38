/** A handler that runs in a thread: the module that exports it, and what it is given there. */
import { integer, orNull, table, type Rule, type RulesOf } from './checks.ts'
import type { RunContext, ThreadSource } from './definition.ts'
import { invalidOption } from './errors.ts'
import { limits } from './limits.ts'

/**
 * What a handler in a thread is given beside its input: the part of `RunContext` that crosses threads. A loop that
 * never awaits sees an abort in `context.signal.aborted`, read from `context` each time, and after each
 * `context.checkin`.
 */
export type ThreadContext = Pick<
  RunContext,
  'id' | 'type' | 'attempt' | 'maxAttempts' | 'deadline' | 'signal' | 'trace' | 'checkin' | 'log' | 'step'
>

/**
 * A handler in a module of its own. Input and output cross threads: they are strict JSON, or what the schema of the
 * input made.
 */
export type ThreadHandler<Input, Output> = (input: Input, context: ThreadContext) => Output | PromiseLike<Output>

/** A module whose default export is a `ThreadHandler`; made by `thread`. */
export interface ThreadModule<Input = unknown, Output = never> extends ThreadSource {
  /** Never there at run time; carries the types. */
  readonly '~types'?: (input: Input) => Output
}

export interface ThreadOptions {
  /**
   * Memory of a thread for objects, MiB, 16…65,536. A handler that needs more ends its thread, and the attempt fails
   * with THREAD_FAILED. Buffers do not count. Default: the limit of V8 for the process, which depends on the memory of
   * the machine.
   */
  readonly memoryMb?: number
}

const threadOptions = table({
  memoryMb: orNull(integer(...limits.threadMemoryMb)),
} satisfies RulesOf<ThreadOptions>)

/** Input and output of the handler that a module exports by default. */
type HandlerOf<Module> = Module extends { readonly default: ThreadHandler<infer Input, infer Output> }
  ? ThreadModule<Input, Awaited<Output>>
  : ThreadModule

/**
 * Names the module of a handler that runs in a thread, for the option `thread` of `defineJob`. With the type of the
 * module as type argument, input and output of the job are inferred from its handler.
 * @param url of the module, as Node loads it: in the built program that of the JavaScript file
 * @throws JobchartError INVALID_OPTION
 * @example thread<typeof import('./resize.ts')>(new URL('./resize.ts', import.meta.url), { memoryMb: 256 })
 */
export function thread<Module = never>(
  url: URL,
  options: ThreadOptions = {},
): [Module] extends [never] ? ThreadModule : HandlerOf<Module> {
  const { memoryMb } = threadOptions(options, 'options of thread')
  const named: ThreadModule = Object.freeze({ url: fileUrl(url, 'url of thread'), memoryMb })
  return named as [Module] extends [never] ? ThreadModule : HandlerOf<Module>
}

/** The option `thread` of a definition: a `file:` URL, or the result of `thread`. */
export const threadOption: Rule<ThreadSource> = (value, name) =>
  isMade(value) ? value : Object.freeze({ url: fileUrl(value, name), memoryMb: null })

const isMade = (value: unknown): value is ThreadSource =>
  typeof value === 'object' && value !== null && 'memoryMb' in value && 'url' in value && typeof value.url === 'string'

const fileUrl: Rule<string> = (value, name) => {
  if (value instanceof URL && value.protocol === 'file:') return value.href
  const hint = "Pass new URL('./resize.ts', import.meta.url): a file beside the module that defines the job."
  throw invalidOption(name, 'a file: URL', value, hint)
}
