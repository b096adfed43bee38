/** Types, states, events and tags may have the names of what every object inherits. */
import { createRuntime, defineJob } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import { setup, type AnyStateMachine } from 'xstate'
import { z } from 'zod'

type Events = { type: 'constructor' } | { type: 'toString' } | { type: 'PING'; by: string }
const machine: AnyStateMachine = setup({ types: { events: {} as Events } }).createMachine({
  id: 'order',
  initial: 'valueOf',
  states: {
    valueOf: { tags: ['hasOwnProperty'], on: { constructor: 'done', toString: 'done', PING: 'done' } },
    done: { type: 'final' },
  },
})
const job = defineJob({ type: 'toString', machine, events: { PING: z.object({ by: z.string() }) } })

test('a job whose type, state and events are called as members of every object is shown, counted and sent events', async () => {
  const runtime = createRuntime({ jobs: [job], logger: {} })
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort' })))
  await runtime.start()
  const { id } = await runtime.enqueue(job, undefined)
  await expect.poll(async () => (await runtime.counts()).waiting).toBe(1)
  const { fetch } = createDashboard({ runtime, authorize: () => 'admin' })
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(new Request(`http://localhost/api/v1/${path}`))
    return response.status === 200 ? response.json() : response.status
  }
  expect(await get(`jobs/${id}`)).toMatchObject({
    machine: {
      events: [
        { type: 'constructor', accepted: true, schema: null },
        { type: 'toString', accepted: true, schema: null },
        { type: 'PING', accepted: true, schema: { properties: { by: {} } } },
      ],
    },
  })
  expect(await get('jobs/count?type=constructor')).toEqual({ count: 0, more: false })
  expect(await get('jobs/count?type=toString&state=waiting')).toEqual({ count: 1, more: false })
  expect(await get('queues/constructor')).toBe(404)
  expect(await get('charts')).toMatchObject({ charts: [{ type: 'toString', jobs: 1 }, {}, {}] })
  const chart = await fetch(new Request('http://localhost/api/v1/charts/job.svg?type=constructor'))
  expect(await chart.text()).not.toContain('NaN')
  await runtime.send(id, { type: 'constructor' })
  await expect.poll(async () => (await runtime.counts()).done).toBe(1)
})
