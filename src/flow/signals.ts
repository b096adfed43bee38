/** Stop on signals: the recipe every service needs, once. */
import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import type { StopOptions, StopReport } from '../call-options.ts'

/** A terminal and a process manager (npm) may both send the signal of one Ctrl-C. */
const echoMs = 300

interface Stoppable {
  stop(options: StopOptions): Promise<StopReport>
}

export function stopOnSignals(
  runtime: Stoppable,
  signals: readonly NodeJS.Signals[],
  options: StopOptions,
  { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
): () => void {
  let askedAt: number | null = null
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = askedAt !== null
    if (askedAt !== null && clock.monotonic() - askedAt < echoMs) return
    askedAt = clock.monotonic()
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
