/** Handlers that wait, as those do that ask another server: their ends come one by one. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Handler } from '../contender.ts'

/** How long the handlers wait, ms: evenly spread between two figures, each job always as long. */
export interface Waits {
  readonly fromMs: number
  readonly toMs: number
}

/** Jobs that follow each other wait differently: a prime, so that all durations occur. */
const stride = 7_919

/** The handlers, which wait before they do their work. */
export const waiting = (handlers: readonly Handler[], { fromMs, toMs }: Waits): Handler[] =>
  handlers.map((handler) => async (input) => {
    await delay(fromMs + ((input.i * stride) % (toMs - fromMs + 1)))
    await handler(input)
  })

/** Jobs per second if each slot began the next job without a pause. */
export const mostPerSecond = (slots: number, { fromMs, toMs }: Waits): number => (slots * 1_000 * 2) / (fromMs + toMs)
