/** The charts of the dashboard are laid out once, and drawn with the marks of each answer. */
import { Worker } from 'node:worker_threads'
import { createRuntime, defineJob } from 'jobchart'
import { toGraph, type ChartConfig } from 'jobchart/chart'
import { expect, onTestFinished, test, vi } from 'vitest'
import { setup } from 'xstate'
import type * as drawingModule from '../../src/dashboard/drawing.ts'
import type { DrawRequest } from '../../src/dashboard/drawing-messages.ts'
import { wizardOf } from '../chart/support/wizard.ts'
import { isLong } from '../harness/long-form.ts'
import { longestTurn } from '../support/loop-probe.ts'
import { called, email } from '../dashboard/world.ts'

// That of the sources would start threads that read TypeScript.
const built = new URL('../../dist/src/dashboard/drawing.js', import.meta.url).href
const { Drawing } = (await import(built)) as typeof drawingModule

const countOf = (svg: string, state: string): string | undefined =>
  new RegExp(`data-count="${state}".*?<text[^>]*>([^<]*)<`).exec(svg)?.[1]

test('a chart whose counts have changed is drawn anew, and not sent to the thread and laid out again', async () => {
  const sent = vi.spyOn(Worker.prototype, 'postMessage')
  const layouts = (): number =>
    sent.mock.calls.filter(([message]) => (message as Partial<DrawRequest>).source?.options !== undefined).length
  const { call, runtime } = await called()
  const chart = async (): Promise<string> => (await call('/api/v1/charts/job.svg?type=email.send')).text()
  expect(countOf(await chart(), 'job.done')).toBe('2')
  expect(layouts()).toBe(1)
  await runtime.run(email, { to: 'eve' })
  expect(countOf(await chart(), 'job.done')).toBe('3')
  expect(layouts()).toBe(1)
})

/** Every state leads to every other one: the most lines that a chart may have. */
const meshOf = (count: number) => ({
  id: 'mesh',
  initial: 's0',
  states: Object.fromEntries(
    Array.from({ length: count }, (_, from) => [
      `s${from}`,
      { on: Object.fromEntries(Array.from({ length: count }, (__, to) => [`E${from}_${to}`, `s${to}`])) },
    ]),
  ),
})

const drawn = (drawing: drawingModule.Drawing, config: ChartConfig): Promise<string> =>
  drawing.draw({ graph: toGraph(config), options: {} }, {})

test('a chart of any form is drawn within seconds, and meanwhile the process goes on', async () => {
  const drawing = new Drawing()
  await drawn(drawing, { id: 'm' })
  const hard = [wizardOf(20), meshOf(54)]
  for (const config of isLong ? [...hard, wizardOf(30), wizardOf(290)] : hard) {
    const chart = toGraph(config)
    let svg = ''
    // The garbage of other tests is collected before: that is no work of a drawing.
    globalThis.gc?.()
    const before = performance.now()
    const held = await longestTurn(async () => (svg = await drawing.draw({ graph: chart, options: {} }, {})))
    expect([held, chart.id]).toEqual([expect.toSatisfy((ms: number) => ms < 30), chart.id])
    // The time limit of a small chart, and that of a thread that draws a list.
    expect(performance.now() - before).toBeLessThan(14_000)
    expect(svg.match(/data-state="/g)).toHaveLength(chart.states.length)
  }
})

test('a layout that takes too long is stopped, said in the picture, and not tried again', async () => {
  const drawing = new Drawing(1)
  const chart = { graph: toGraph(wizardOf(60)), options: {} }
  const started = vi.spyOn(Worker.prototype, 'postMessage')
  const first = await drawing.draw(chart, {})
  expect(first).toContain('transitions are written in their states')
  expect(started).toHaveBeenCalledTimes(2)
  expect(await drawing.draw(chart, {})).toBe(first)
  expect(started).toHaveBeenCalledTimes(3)
  expect(started.mock.calls[2]?.[0]).toMatchObject({ source: null })
})

test('a chart that cannot be drawn is refused again without another attempt', async () => {
  const drawing = new Drawing()
  const graph = toGraph(wizardOf(400))
  const chart = { graph, options: {} }
  const asked = vi.spyOn(Worker.prototype, 'postMessage')
  await expect(drawing.draw(chart, {})).rejects.toMatchObject({ code: 'CHART_TOO_LARGE' })
  expect(asked).toHaveBeenCalledTimes(1)
  await expect(drawing.draw(chart, {})).rejects.toMatchObject({ code: 'CHART_TOO_LARGE' })
  expect(asked).toHaveBeenCalledTimes(1)
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
