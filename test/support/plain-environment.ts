import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The environment of a process that a test starts: what any process has, and a cache of compiled sources, which halves
 * the time of each start. The variables of a test runner must not change what a program does.
 */
export const plainEnvironment: NodeJS.ProcessEnv = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: join(tmpdir(), 'jobchart-compile-cache'),
}
