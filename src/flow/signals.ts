/** Stop on signals: the recipe every service needs, once. */
import type { Logger } from '../log.ts'
import type { StopOptions, StopReport } from '../call-options.ts'

interface Stoppable {
  stop(options: StopOptions): Promise<StopReport>
}

export function stopOnSignals(
  runtime: Stoppable,
  signals: readonly NodeJS.Signals[],
  options: StopOptions,
  logger: Logger,
): () => void {
  let asked = 0
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = asked++ > 0
    logger.info(again ? `${signal} again: aborting` : `${signal}: stopping`)
    const stopping = runtime.stop(again ? { ...options, mode: 'abort' } : options)
    if (again) return
    stopping.then(
      (report) => {
        off()
        logger.info('stopped', { ...report })
        // A stuck handler would keep the process for ever; without our handler the signal does what it always did.
        if (report.running > 0) process.kill(process.pid, signal)
      },
      (error: unknown) => logger.error('the stop failed', { error }),
    )
  }
  const off = (): void => {
    for (const signal of signals) process.off(signal, onSignal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  return off
}
