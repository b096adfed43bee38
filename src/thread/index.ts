/**
 * What a module imports whose handler runs in a thread: light, because every thread loads it. The job that runs it is
 * defined in the program: `defineJob({ type, thread: new URL('./resize.ts', import.meta.url) })`.
 */
import '../core/node-version.ts'
import { fn } from '../core/checks.ts'
import type { ThreadHandler } from '../core/thread-module.ts'

export { fatal, snooze } from '../core/intent.ts'
export type { ThreadContext, ThreadHandler } from '../core/thread-module.ts'

/**
 * Declares the handler of a module: its default export. The handler is returned as it is, so that a test may call it.
 * @throws JobchartError INVALID_OPTION unless it is a function
 * @example
 * export default threadHandler(async ({ path, width }: { path: string; width: number }, { checkin }) => {
 *   const image = await decode(path)
 *   checkin('decoded')
 *   return { bytes: await resize(image, width) }
 * })
 */
export function threadHandler<Input, Output>(handler: ThreadHandler<Input, Output>): ThreadHandler<Input, Output> {
  return fn<typeof handler>()(handler, 'handler')
}
