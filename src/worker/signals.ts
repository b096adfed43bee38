/** Stops a runtime on signals of the operating system. */
import type { StopOptions, StopReport } from '../core/call-options.ts'
import type { Clock } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { nodeModule, notHere } from '../core/platform.ts'

/** A terminal and a process manager (npm) may both send the signal of one Ctrl-C. */
const echoMs = 300
const uncatchable: ReadonlySet<string> = new Set(['SIGKILL', 'SIGSTOP'])

interface Stoppable {
  stop(options: StopOptions): Promise<StopReport>
  /** Completes when it has stopped, at once if it has. */
  readonly state$: { subscribe(observer: { complete: () => void }): unknown }
}

/** @throws JobchartError INVALID_OPTION, UNSUPPORTED in a browser */
export function stopOnSignals(
  runtime: Stoppable,
  given: NodeJS.Signals | readonly NodeJS.Signals[],
  options: StopOptions,
  { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
): () => void {
  const signals = signalNames(given)
  let askedAt: number | null = null
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = askedAt !== null
    if (askedAt !== null && clock.monotonic() - askedAt < echoMs) return
    askedAt = clock.monotonic()
    logger.info(again ? `${signal} again: aborting` : `${signal}: stopping`)
    const stopping = runtime.stop(again ? { ...options, mode: 'abort' } : options)
    // Both resolve with one report: the first tells how it ended.
    if (again) return void stopping.catch(() => {})
    stopping.then(
      (report) => {
        logger.info('stopped', { ...report })
        // A stuck handler may keep the process alive. The signal handlers are removed by now, so the signal ends the
        // process.
        if (report.running > 0) process.kill(process.pid, signal)
      },
      (error: unknown) => logger.error('the stop failed', { error }),
    )
  }
  const off = (): void => {
    for (const signal of signals) process.off(signal, onSignal)
  }
  for (const signal of signals) process.on(signal, onSignal)
  runtime.state$.subscribe({ complete: off })
  return off
}

function signalNames(given: NodeJS.Signals | readonly NodeJS.Signals[]): readonly NodeJS.Signals[] {
  const os = nodeModule('node:os')
  if (os === undefined) throw notHere('stopOn', 'A browser has no signals: call runtime.stop() yourself.')
  const hint = "For a service: runtime.stopOn(['SIGTERM', 'SIGINT'])."
  const signals = typeof given === 'string' ? [given] : given
  if (!Array.isArray(signals) || signals.length === 0)
    throw invalidOption('signals of stopOn', 'a list of signals', given, hint)
  for (const signal of signals as readonly NodeJS.Signals[]) {
    if (typeof signal !== 'string' || !Object.hasOwn(os.constants.signals, signal)) {
      throw invalidOption('signals of stopOn', "names of signals, such as 'SIGTERM'", signal, hint)
    }
    if (uncatchable.has(signal)) {
      throw invalidOption('signals of stopOn', 'signals that a process can handle', signal, hint)
    }
  }
  return [...new Set(signals as readonly NodeJS.Signals[])]
}
