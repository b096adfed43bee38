/** The thread of an engine: handles one message after another. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { Engine, type EngineOptions } from './engine.ts'
import { hasMoved, pollerOf, stopwatch } from './engine-runner.ts'
import { packError, packOutcome, revivedCall, type Ask, type PackedError, type ThreadMessage } from './messages.ts'

const options = workerData as EngineOptions
const engine = new Engine(options)

const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

const poller = pollerOf(engine, options.path, systemClock, (hints) => send({ kind: 'hints', hints }))

function open(): PackedError | null {
  try {
    engine.open()
    return null
  } catch (error) {
    return packError(error)
  }
}

parentPort?.on('message', (ask: Ask) => {
  if (ask.kind === 'open') send({ kind: 'opened', error: open() })
  else if (ask.kind === 'look') poller.set(ask.on)
  else if (ask.kind === 'run') {
    const outcome = engine.run(ask.calls.map(revivedCall), ask.now, stopwatch(systemClock, 'thread', ask.waitedMs))
    if (outcome.kind === 'done') poller.looked()
    if (hasMoved(outcome)) poller.soon()
    send({ kind: 'ran', outcome: packOutcome(outcome) })
  } else {
    poller.set(false)
    engine.close()
    send({ kind: 'closed' })
    parentPort?.close()
  }
})
