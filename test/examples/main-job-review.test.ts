/** The review of a suspicious file: who decides, and when it goes on by itself. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestRuntime } from 'jobchart/testing'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { review } from '../../examples/main-job/review.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let folder = ''
beforeEach(() => {
  const made = temporaryFolder()
  folder = made.path
  onTestFinished(() => made.remove())
})

/** A review of a file with this content, up to its rest. */
async function reviewed(content: string | null) {
  const path = join(folder, 'file.js')
  if (content !== null) await writeFile(path, content)
  const { runtime, clock } = await createTestRuntime({ jobs: [review] })
  onTestFinished(() => void runtime.stop())
  const job = await runtime.enqueue(review, { path, version: '1', longestBytes: content?.length ?? 0 })
  await job.waitFor((view) => view.hasTag('asks') || view.status === 'done')
  return { clock, job, state: async () => (await job.snapshot()).value }
}

const bundle = 'x'.repeat(600_000)

test('a file with a source map is accepted, and one that has gone needs nobody', async () => {
  expect(await (await reviewed(`${bundle}\n//# sourceMappingURL=file.js.map\n`)).state()).toBe('accepted')
  await rm(join(folder, 'file.js'))
  expect(await (await reviewed(null)).state()).toBe('gone')
})

test('a person accepts or rejects another', async () => {
  const { job, clock, state } = await reviewed(bundle)
  expect((await job.snapshot()).context).toMatchObject({ evidence: { begins: 'x'.repeat(80), hasSourceMap: false } })
  await job.send({ type: 'REJECT' })
  await clock.settle()
  expect(await state()).toBe('rejected')
})

test('if nobody answers within ten minutes it expires; to ask for time begins them anew', async () => {
  const { job, clock, state } = await reviewed(bundle)
  await clock.advance('9m')
  await job.send({ type: 'ASK_FOR_TIME' })
  await clock.advance('9m')
  expect(await state()).toBe('deciding')
  await clock.advance('1m')
  expect(await state()).toBe('expired')
})
