/** What a person reads of a storm in the end. */
import { reportText, spreadText } from '../harness/report.ts'
import type { MachineFigures } from './machines/verdict.ts'
import type { Verdict } from './verdict.ts'

export function report(verdict: Verdict): string {
  const { options, promises, broken, machines, folder } = verdict
  const { store, seed } = options
  const figures = [...figureRows(verdict), ...machineRows(machines)]
  return `Storm on ${store}, seed ${seed}\n\n${reportText({ promises, figures, broken, seed, folder })}`
}

function figureRows({ figures, back }: Verdict): string[] {
  const { jobs, durationMs, drainMs, attempts, runs, steps, rescues, lostSettles, unknown, dead, poison, calls } =
    figures
  const { started, killed, selfKilled, zombies, blocked, terminated, slowestStopMs, turnedAway, pauses, unattendedMs } =
    figures
  const { restarted, held, filled, startedFull, leftOut } = figures
  const seconds = durationMs / 1_000
  return [
    `jobs ${jobs} in ${seconds.toFixed(1)} s (${Math.round(jobs / seconds)}/s), of them dead ${dead}, poison ${poison}; drained in ${(drainMs / 1_000).toFixed(1)} s`,
    `attempts ${attempts}, of them rescued ${rescues}; runs ${runs} with ${steps} steps; settles refused as lost ${lostSettles}`,
    `calls ${calls}, of them without an answer ${unknown}`,
    `processes ${started}: killed ${killed}, by poison ${selfKilled}, stopped and continued ${zombies}, blocked ${blocked}`,
    `terminated ${terminated}, the slowest within ${Math.round(slowestStopMs)} ms; turned away at the start ${turnedAway}; the machine paused ${pauses}×`,
    ...(restarted > 0
      ? [
          `the server was killed and started again ${restarted}×, and made its clients wait ${held}×`,
          ...(leftOut > 0 ? [`jobs that are not judged, because writes of them were lost: ${leftOut}`] : []),
          `workers that went on with it again ${back?.seen ?? 0}×, the slowest after ${Math.round(back?.slowestMs ?? 0)} ms`,
        ]
      : []),
    ...(filled > 0
      ? [`the memory of the server was full ${filled}×; workers that started meanwhile ${startedFull}`]
      : []),
    `no worker that lived for a second: ${Math.round(unattendedMs)} ms at the longest`,
  ]
}

function machineRows(figures: MachineFigures | null): string[] {
  if (figures === null) return []
  const { machines, ended, messages, repeated, checkpoints, children, compensated, work, workAgain, timers } = figures
  const states = Object.entries(ended).map(([state, count]) => `${state} ${count}`)
  return [
    `machines ${machines}: ${states.join(', ')}; children ${children}; cancels compensated ${compensated}`,
    `events ${messages}, sent again ${repeated}; checkpoints ${checkpoints}; pieces of work ${work}, of them again after a crash ${workAgain}`,
    `timers ${timers}, late by ${spreadText(figures.lateMs)}`,
  ]
}
