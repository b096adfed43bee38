/** The modules that a command is given: the definitions of jobs and the machines that they export. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyStateMachine } from 'xstate'
import { invalidOption, JobchartError } from '../core/errors.ts'
import type { JobDefinition } from '../index.ts'
import { errorFields } from './errors.ts'

/**
 * Everything that a module exports.
 * @throws JobchartError INVALID_OPTION; with `problems` if a machine in it cannot be a job
 */
export async function loadModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file)
  if (!existsSync(path)) {
    const hint = 'Name a module by its path from this folder, such as ./jobs.ts.'
    throw new JobchartError('INVALID_OPTION', `${file} does not exist`, { hint })
  }
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    const { code, message, hint: own } = errorFields(error)
    // An error of jobchart, such as a machine that cannot be a job.
    if (own !== undefined) throw error
    const isTypeScript = code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?ts$/.test(file)
    const hint = isTypeScript
      ? 'This Node does not run TypeScript: use Node 22.18 or newer, or name the compiled file.'
      : 'The module must load by itself: node FILE. It is run, so keep the start of the runtime in another module.'
    throw new JobchartError('INVALID_OPTION', `${file} cannot be loaded: ${message}`, { hint, cause: error })
  }
}

export const isJobDefinition = (value: unknown): value is JobDefinition =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  'limits' in value &&
  'maxAttempts' in value

export const isMachine = (value: unknown): value is AnyStateMachine =>
  typeof value === 'object' && value !== null && 'root' in value && 'implementations' in value

/**
 * The definitions that a module exports, in lists or by themselves. Lists come first: their order says which version of
 * a machine is the current one, and the exports of a module have none.
 */
export function jobsIn(exported: Readonly<Record<string, unknown>>): readonly JobDefinition[] {
  const values = Object.values(exported)
  return [...values.filter((value) => Array.isArray(value)), ...values].flat().filter(isJobDefinition)
}

/** The definitions that modules export. @throws JobchartError INVALID_OPTION */
export async function loadJobs(files: readonly string[]): Promise<readonly JobDefinition[]> {
  const found = new Set<JobDefinition>()
  for (const file of files) {
    const jobs = jobsIn(await loadModule(file))
    for (const job of jobs) found.add(job)
    if (jobs.length > 0) continue
    throw invalidOption('--jobs', 'a module that exports results of defineJob', file, 'Export them, or a list of them.')
  }
  return [...found]
}
