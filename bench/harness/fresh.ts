/** Each measurement runs in a process of its own, so that none finds the heap or the compiled code of another. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { NotVerified } from './ledger.ts'

/** What a module that is run in a fresh process exports as `measure`. Its parameters and its result are plain data. */
export type Measure<P, R> = (params: P) => Promise<R>
type ParamsOf<M> = M extends Measure<infer P, unknown> ? P : never
type ResultOf<M> = M extends (params: never) => Promise<infer R> ? R : never
export type Answer<R> = { readonly result: R } | { readonly failure: string }

const child = fileURLToPath(new URL('child.ts', import.meta.url))
const measurementMsMax = 1_200_000

const withGc = ['--expose-gc']

/**
 * Runs `measure` of the module in a fresh process.
 * @param execArgv of Node; default: with gc()
 * @throws NotVerified with the error of that process
 */
export function inFreshProcess<M>(
  module: URL,
  params: ParamsOf<M>,
  execArgv: readonly string[] = withGc,
): Promise<ResultOf<M>> {
  return new Promise((resolve, reject) => {
    const forked = fork(child, [module.href, JSON.stringify(params)], {
      execArgv: [...process.execArgv.filter((flag) => flag.startsWith('--conditions')), ...execArgv],
      timeout: measurementMsMax,
      killSignal: 'SIGKILL',
      // stdout is for the report alone.
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    let answer: Answer<ResultOf<M>> | null = null
    forked.on('message', (message) => (answer = message as Answer<ResultOf<M>>))
    forked.on('error', reject)
    forked.on('exit', (code, signal) => {
      if (answer === null) reject(new NotVerified(`a measurement ended without an answer (${signal ?? code})`))
      else if ('failure' in answer) reject(new NotVerified(answer.failure))
      else resolve(answer.result)
    })
  })
}
