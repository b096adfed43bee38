/** The thread of an engine: does what it is asked, message by message. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { Engine, type EngineOptions } from './engine.ts'
import { stopwatch } from './host.ts'
import { Looks } from './looks.ts'
import { packError, packOutcome, type Ask, type PackedError, type Told } from './messages.ts'

const engine = new Engine(workerData as EngineOptions)

const tell = (told: Told): void => parentPort?.postMessage(told)

const looks = new Looks(systemClock, () => {
  const hints = engine.poll(systemClock.now())
  if (hints.length > 0) tell({ kind: 'hints', hints })
  return hints.length > 0
})

function open(): PackedError | null {
  try {
    engine.open()
    return null
  } catch (error) {
    return packError(error)
  }
}

parentPort?.on('message', (ask: Ask) => {
  if (ask.kind === 'open') tell({ kind: 'opened', error: open() })
  else if (ask.kind === 'look') looks.set(ask.on)
  else if (ask.kind === 'run') {
    looks.soon()
    tell({
      kind: 'ran',
      outcome: packOutcome(engine.run(ask.calls, ask.now, stopwatch(systemClock, 'thread', ask.waitedMs))),
    })
  } else {
    looks.set(false)
    engine.close()
    tell({ kind: 'closed' })
    parentPort?.close()
  }
})
