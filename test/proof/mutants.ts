/** Faults in the store and in the engine, each of which somebody must notice. */
import { runProgram } from '../harness/processes.ts'
import type { Proof, ProofResult } from './proof.ts'

/** Of a program that injects faults into itself: its last line says how many were noticed. */
async function hunted(program: string, ...args: string[]): Promise<ProofResult> {
  const { exitCode, stdout, stderr } = await runProgram(new URL(program, import.meta.url), args, {
    env: { LONG: '1' },
    msMax: 6 * 3_600_000,
  })
  const summary = stdout.trimEnd().split('\n').at(-1) ?? ''
  return { summary, failures: exitCode === 0 ? [] : [`ended with ${exitCode}:\n${stdout}${stderr}`] }
}

export const storeMutants: Proof = {
  name: 'mutants',
  claim: 'whatever mistake the SQLite store or the core makes, a case of the contract notices',
  run: () => hunted('../mutants/main.ts'),
}

export const engineMutants: Proof = {
  name: 'faults',
  claim: 'whatever mistake the engine makes, a simulated life notices',
  run: ({ scale }) => hunted('../simulation/main.ts', '--mutants', '--seeds', `${2_000 * scale}`),
}
