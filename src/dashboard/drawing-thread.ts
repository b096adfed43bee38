/** The thread of the dashboard that lays out charts and draws them, one after the other: a layout can take seconds. */
import { parentPort } from 'node:worker_threads'
import { drawingOf, type Drawing } from '../chart/to-svg.ts'
import { loadElk } from '../chart/layout.ts'
import { JobchartError } from '../core/errors.ts'
import type { DrawAnswer, DrawRequest } from './drawing-messages.ts'

const drawings = new Map<number, Promise<Drawing>>()
const engine = await loadElk()

const send = (answer: DrawAnswer): void => parentPort?.postMessage(answer)

async function draw({ chart, source, marks }: DrawRequest): Promise<string> {
  if (source !== null) drawings.set(chart, drawingOf(source.graph, { ...source.options, engine }))
  const drawing = drawings.get(chart)
  if (drawing === undefined) throw new RangeError(`chart ${chart} was not sent to this thread`)
  return (await drawing)(marks)
}

async function answer(request: DrawRequest): Promise<void> {
  try {
    send({ kind: 'drawn', svg: await draw(request) })
  } catch (error) {
    const { code, message, hint } =
      error instanceof JobchartError ? error : new JobchartError('UNSUPPORTED', String(error))
    send({ kind: 'failed', code, message, hint })
  }
}

parentPort?.on('message', (request: DrawRequest) => void answer(request))
send({ kind: 'ready' })
