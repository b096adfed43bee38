/** The main module of a thread: loads the handler, and runs it for one job after the other. */
import { workerData } from 'node:worker_threads'
import { describe } from '../core/errors.ts'
import { recordError } from '../core/failure.ts'
import type { ThreadHandler } from '../core/thread-module.ts'
import { HandlerRun } from './handler-run.ts'
import type { FromThread, ThreadStart, ToThread } from './messages.ts'

const { url, port } = workerData as ThreadStart
let current: HandlerRun | null = null
let loading: Promise<ThreadHandler<unknown, unknown>> | null = null

async function load(): Promise<ThreadHandler<unknown, unknown>> {
  const module = (await import(url)) as { readonly default?: unknown }
  if (typeof module.default === 'function') return module.default as ThreadHandler<unknown, unknown>
  throw new TypeError(`its default export is ${describe(module.default)}, not a function`)
}

async function start({ run, job }: Extract<ToThread, { kind: 'start' }>): Promise<void> {
  const handlerRun = new HandlerRun(run, job, port)
  current = handlerRun
  let handler
  try {
    handler = await (loading ??= load())
  } catch (error) {
    port.postMessage({ kind: 'unusable', run, error: recordError(error) } satisfies FromThread)
    return
  }
  await handlerRun.run(handler)
}

port.on('message', (message: ToThread) => {
  if (message.kind === 'start') void start(message)
  else current?.take(message)
})
