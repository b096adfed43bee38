/** Failures on request, as middleware: the jobs themselves know nothing of them. */
import { hash } from 'node:crypto'
import type { Middleware } from 'jobchart'
import type { FileInput } from './jobs.ts'

/** Lets `share` of all attempts fail: always the same ones for a seed, whatever the order in which jobs run. */
export function injectFailures(share: number, seed: number): Middleware {
  return ({ type, attempt, job }, next) => {
    const { path } = job.input as FileInput
    if (chance(`${seed}\0${type}\0${path}\0${attempt}`) < share) {
      throw new Error('failed on request')
    }
    return next()
  }
}

/** A number in [0, 1) that depends on the text alone. */
function chance(text: string): number {
  return hash('sha1', text, 'buffer').readUInt32BE() / 2 ** 32
}
