/** What a person sees of a storm: one line that lives while it rages, a table in the end. */
import type { MachineFigures } from './machines/verdict.ts'
import type { Broken } from './broken.ts'
import type { Verdict } from './verdict.ts'

/** Says how far it is: one line that is rewritten on a terminal, a line every few seconds elsewhere. */
export class Progress {
  private readonly startedAt = performance.now()
  private readonly stream: NodeJS.WriteStream
  private saidAt = -Infinity

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.stream = stream
  }

  say(text: string): void {
    const now = performance.now()
    const seconds = Math.floor((now - this.startedAt) / 1_000)
    const line = `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}  ${text}`
    if (this.stream.isTTY) this.stream.write(`\r\u001B[2K${line.slice(0, this.stream.columns - 1)}`)
    else if (now - this.saidAt >= 5_000) {
      this.saidAt = now
      this.stream.write(`${line}\n`)
    }
  }

  end(): void {
    if (this.stream.isTTY) this.stream.write('\r\u001B[2K')
  }
}

/** Of each promise; the others are counted. */
const shownMax = 3
const evidenceMax = 25

export function report(verdict: Verdict): string {
  const { options, promises, broken, machines, folder } = verdict
  const { store, seed } = options
  const width = Math.max(...promises.map(([, says]) => says.length))
  const rows = promises.map(([name, says, times]) => {
    return `  ${name.padEnd(7)} ${says.padEnd(width)}  ${times === 0 ? 'holds' : `BROKEN ${times}×`}`
  })
  const isClean = promises.every(([, , times]) => times === 0)
  const end = isClean
    ? `Every promise was kept. Seed ${seed}.`
    : `PROMISES WERE BROKEN. Seed ${seed}; histories, store and logs are in ${folder}`
  return [
    `Storm on ${store}, seed ${seed}`,
    '',
    ...rows,
    '',
    ...figureRows(verdict),
    ...machineRows(machines),
    '',
    ...shown(broken),
    end,
  ].join('\n')
}

function figureRows({ figures, back }: Verdict): string[] {
  const { jobs, durationMs, drainMs, attempts, runs, steps, rescues, lostSettles, unknown, dead, poison, calls } =
    figures
  const { started, killed, selfKilled, zombies, blocked, terminated, slowestStopMs, turnedAway, pauses, unattendedMs } =
    figures
  const { restarted, held, filled, startedFull, leftOut } = figures
  const seconds = durationMs / 1_000
  return [
    `  jobs ${jobs} in ${seconds.toFixed(1)} s (${Math.round(jobs / seconds)}/s), of them dead ${dead}, poison ${poison}; drained in ${(drainMs / 1_000).toFixed(1)} s`,
    `  attempts ${attempts}, of them rescued ${rescues}; runs ${runs} with ${steps} steps; settles refused as lost ${lostSettles}`,
    `  calls ${calls}, of them without an answer ${unknown}`,
    `  processes ${started}: killed ${killed}, by poison ${selfKilled}, stopped and continued ${zombies}, blocked ${blocked}`,
    `  terminated ${terminated}, the slowest within ${Math.round(slowestStopMs)} ms; turned away at the start ${turnedAway}; the machine paused ${pauses}×`,
    ...(restarted > 0
      ? [
          `  the server was killed and started again ${restarted}×, and made its clients wait ${held}×`,
          ...(leftOut > 0 ? [`  jobs that are not judged, because writes of them were lost: ${leftOut}`] : []),
          `  workers that went on with it again ${back?.seen ?? 0}×, the slowest after ${Math.round(back?.slowestMs ?? 0)} ms`,
        ]
      : []),
    ...(filled > 0
      ? [`  the memory of the server was full ${filled}×; workers that started meanwhile ${startedFull}`]
      : []),
    `  no worker that lived for a second: ${Math.round(unattendedMs)} ms at the longest`,
  ]
}

function machineRows(figures: MachineFigures | null): string[] {
  if (figures === null) return []
  const { machines, ended, messages, repeated, checkpoints, children, compensated, work, workAgain, timers } = figures
  const states = Object.entries(ended).map(([state, count]) => `${state} ${count}`)
  const [median, p99, max] = figures.lateMs
  return [
    `  machines ${machines}: ${states.join(', ')}; children ${children}; cancels compensated ${compensated}`,
    `  events ${messages}, sent again ${repeated}; checkpoints ${checkpoints}; pieces of work ${work}, of them again after a crash ${workAgain}`,
    `  timers ${timers}, late by ${median} ms (median), ${p99} ms (99 of 100), ${max} ms (the last)`,
  ]
}

function shown(broken: readonly Broken[]): string[] {
  return [...Map.groupBy(broken, ({ promise }) => promise).values()].flatMap((ofPromise) =>
    ofPromise
      .slice(0, shownMax)
      .flatMap(({ promise, message, evidence }) => [
        `${promise}: ${message}`,
        ...evidence.slice(0, evidenceMax).map((each) => `    ${each}`),
        '',
      ]),
  )
}
