/** The charts of the dashboard are laid out once, and drawn with the marks of each answer. */
import elk from 'elkjs/lib/elk.bundled.js'
import { createRuntime, defineJob } from 'jobchart'
import { expect, onTestFinished, test, vi } from 'vitest'
import { setup } from 'xstate'
import { called, email } from './world.ts'

const countOf = (svg: string, state: string): string | undefined =>
  new RegExp(`data-count="${state}".*?<text[^>]*>([^<]*)<`).exec(svg)?.[1]

test('a chart whose counts have changed is drawn anew, and not laid out again', async () => {
  const layouts = vi.spyOn(elk.default.prototype, 'layout')
  const { call, runtime } = await called()
  const chart = async (): Promise<string> => (await call('/api/v1/charts/job.svg?type=email.send')).text()
  expect(countOf(await chart(), 'job.done')).toBe('2')
  const before = layouts.mock.calls.length
  expect(before).toBeGreaterThan(0)
  await runtime.run(email, { to: 'eve' })
  expect(countOf(await chart(), 'job.done')).toBe('3')
  expect(layouts).toHaveBeenCalledTimes(before)
})

const orderWith = (state: string, version: string) =>
  defineJob({
    type: 'order',
    version,
    machine: setup({}).createMachine({ id: 'order', initial: state, states: { [state]: { on: { GO: state } } } }),
  })

test('each version of a machine has its own chart, although both have one id', async () => {
  const { call } = await called({}, async () => {
    const runtime = createRuntime({ jobs: [orderWith('paper', '1'), orderWith('online', '2')], logger: {} })
    onTestFinished(() => void runtime.stop({ mode: 'abort' }))
    await runtime.start()
    return runtime
  })
  const statesOf = async (version: string): Promise<string[]> => {
    const svg = await (await call(`/api/v1/charts/machine.svg?type=order&version=${version}`)).text()
    return [...svg.matchAll(/<g [^>]*data-state="([^"]*)"/g)].map(([, id]) => id!)
  }
  expect(await statesOf('1')).toEqual(['order', 'order.paper'])
  expect(await statesOf('2')).toEqual(['order', 'order.online'])
})
