/**
 * The tables of a file do not depend on the chart of a job: with one state more, files that were written without it are
 * opened and their jobs finished.
 */
import { expect, test, vi } from 'vitest'
import { StateMachine } from 'xstate'
import type * as chart from '../../machines/job.machine.ts'
import { jobStates } from '../../src/core/lifecycle.ts'
import './sqlite-left-files.test.ts'

vi.mock('../../machines/job.machine.ts', async (importOriginal) => {
  const original = await importOriginal<typeof chart>()
  const { config, implementations } = original.jobMachine
  const blocked = { tags: ['live'], description: 'waits for another job', on: { CANCEL: 'cancelled' } }
  // Between two others: the order of the states is nowhere in a file.
  const states = Object.entries(config.states ?? {}).flatMap(([name, state]) =>
    name === 'retrying'
      ? [
          ['blocked', blocked],
          [name, state],
        ]
      : [[name, state]],
  )
  const extended = { ...config, states: Object.fromEntries(states) as typeof config.states }
  return { ...original, jobMachine: new StateMachine(extended as typeof config, implementations) }
})

test('the chart has a state more', () => {
  expect(jobStates.indexOf('blocked' as (typeof jobStates)[number])).toBe(jobStates.indexOf('retrying') - 1)
})
