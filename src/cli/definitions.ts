/** The definitions in modules, and their problems. */
import type { AnyStateMachine } from 'xstate'
import { createRuntime, defineJob, type JobDefinition, type MachineProblem } from '../index.ts'
import { errorFields } from './errors.ts'
import { isMachine, jobsIn, loadModule } from './modules.ts'

/** A problem of the definitions. */
export interface Finding {
  readonly code: string
  /** The part of a machine; null if it is the module or the list of jobs as a whole. */
  readonly place: string | null
  readonly what: string
  readonly hint: string | null
}

export interface Definitions {
  readonly definitions: readonly JobDefinition[]
  readonly findings: readonly Finding[]
}

/** Loads modules. A module that cannot be loaded, and a machine that cannot be a job, are findings. */
export async function definitionsIn(files: readonly string[]): Promise<Definitions> {
  const findings: Finding[] = []
  const definitions = new Set<JobDefinition>()
  for (const file of files) {
    try {
      const exported = await loadModule(file)
      for (const job of jobsIn(exported)) definitions.add(job)
      for (const machine of Object.values(exported).filter(isMachine)) checkMachine(machine)
    } catch (error) {
      findings.push(...findingsOf(error))
    }
  }
  const all = [...definitions]
  try {
    // Checks across definitions: duplicate types, child jobs that are not listed.
    if (all.length > 0) createRuntime({ jobs: all })
  } catch (error) {
    findings.push(...findingsOf(error))
  }
  if (all.length === 0 && findings.length === 0) {
    const hint = 'Export the results of defineJob.'
    findings.push({ code: 'INVALID_OPTION', place: null, what: 'nothing to check is exported', hint })
  }
  return { definitions: all, findings }
}

const checkMachine = (machine: AnyStateMachine): void => void defineJob({ type: machine.id, machine })

function findingsOf(error: unknown): readonly Finding[] {
  const { code, message, hint } = errorFields(error)
  if (code === undefined) throw error
  const { problems } = error as { readonly problems?: readonly MachineProblem[] }
  return problems ?? [{ code, place: null, what: message, hint: hint ?? null }]
}
