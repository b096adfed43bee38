/**
 * The jobs that a machine enqueues are listed with it, or said to be run elsewhere: a wiring error never reaches
 * `onError`.
 */
import { createRuntime, defineJob, fromJob, type JobDefinition } from 'jobchart'
import { assign, createMachine, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

const render = defineJob({ type: 'render', run: () => 'rendered' })

const bookOf = (child: JobDefinition) =>
  defineJob({
    type: 'book',
    machine: setup({
      actors: {
        chapter: setup({ actors: { render: fromJob(child) } }).createMachine({
          id: 'chapter',
          initial: 'rendering',
          states: {
            rendering: { invoke: { src: 'render', onDone: 'rendered' } },
            rendered: { type: 'final' },
          },
        }),
      },
    }).createMachine({
      id: 'book',
      initial: 'writing',
      states: {
        writing: { invoke: { src: 'chapter', onDone: 'done', onError: 'refunded' } },
        done: { type: 'final' },
        refunded: { type: 'final' },
      },
    }),
  })

test('a runtime refuses a machine whose child job it does not list, and names both', () => {
  expect(() => createRuntime({ jobs: [bookOf(render)] })).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/book.*render/) as string,
      hint: expect.stringContaining('jobsElsewhere') as string,
    }) as Error,
  )
  expect(() => createRuntime({ jobs: [bookOf(render), render] })).not.toThrow()
})

test('another definition of the listed type is refused as well', () => {
  const other = defineJob({ type: 'render', concurrency: 1, run: () => 'other' })
  expect(() => createRuntime({ jobs: [bookOf(render), other] })).toThrow(/another definition/)
})

test('an inline child job is found, too', () => {
  const machine = createMachine({ invoke: { src: fromJob(render), onDone: { actions: assign({}) } } })
  expect(() => createRuntime({ jobs: [defineJob({ type: 'inline', machine })] })).toThrow(/render/)
})

test('a child job that another process runs is enqueued there', async () => {
  const at = world()
  const book = bookOf(render)
  const parent = await at.runtime({ jobs: [book], jobsElsewhere: ['render'] })
  const job = await parent.enqueue(book, undefined)
  await at.clock.settle()
  expect((await job.record()).state).toBe('waiting')
  await at.runtime({ jobs: [render] })
  await at.clock.advance('1s')
  const { state, checkpoint } = await job.record()
  expect(state).toBe('done')
  expect(JSON.stringify(checkpoint?.state)).toContain('"value":"done"')
})

test.each([[['']], ['render'], [[7]]])('jobsElsewhere: %j is refused', (jobsElsewhere) => {
  expect(() => createRuntime({ jobs: [render], jobsElsewhere: jobsElsewhere as never })).toThrow(/jobsElsewhere/)
})
