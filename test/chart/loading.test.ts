/** What draws no picture loads no layout engine: elkjs is large. */
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { machines } from '../../machines/index.ts'

const loaded = (): string[] =>
  Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('/elkjs/'))

test('elkjs is loaded by the first layout, and by nothing else', async () => {
  await import('jobchart')
  const { layout, toDot, toGraph, toMermaid, toText } = await import('jobchart/chart')
  for (const draw of [toDot, toGraph, toMermaid, toText]) draw(machines.job)
  expect(loaded()).toEqual([])
  await layout(machines.job, { direction: 'right' })
  expect(loaded()).not.toEqual([])
})
