/** What is done, line by line, in a file: to see that nothing is done twice. */
import { appendFileSync } from 'node:fs'
import type { Middleware } from 'jobchart'
import type { FileInput } from './jobs.ts'

/** Writes each line before it goes on, so that a kill takes none away. */
export function ledger(file: string): Middleware {
  return async ({ type, attempt, job }, next) => {
    const { path } = job.input as FileInput
    const write = (what: string): void => appendFileSync(file, `${[what, type, attempt, path].join('\t')}\n`)
    write('start')
    const output = await next()
    write('end')
    return output
  }
}
