/** Names that a URL would drop from a path. */
import { defineJob, createRuntime } from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { segmentOf } from '../../src/dashboard/path-segment.ts'
import type { JobView } from '../../src/dashboard/job-view.ts'
import { called } from './world.ts'

const names = ['.', '..', '...', '~', '~.', '~..', '~~.', '%2e', '%7E.', 'a/..', '/', 'count', 'a.b']

test('jobs, types and schedules of every name have a path of their own', async () => {
  const { get, post, runtime } = await called({}, async () => {
    const jobs = names.map((type) => defineJob({ type, run: () => type }))
    const started = createRuntime({ jobs, logger: {} })
    onTestFinished(() => void started.stop({ mode: 'abort' }))
    await started.start()
    for (const [i, name] of names.entries()) {
      await started.enqueue(jobs[i]!, undefined, { id: name, delay: '1h' })
      await started.schedule(name, '0 3 * * *', jobs[i]!, undefined)
    }
    return started
  })
  for (const name of names) {
    const segment = segmentOf(name)
    // The one path that has another meaning: `jobPath` of the page knows it.
    if (name !== 'count') expect((await get<JobView>(`/jobs/${segment}`)).job.id).toBe(name)
    expect(await get(`/queues/${segment}`)).toMatchObject({ type: name })
    expect((await post(`/queues/${segment}/pause`)).status).toBe(200)
    expect((await runtime.queue(name).stats()).paused).toBe(true)
    expect((await post(`/schedules/${segment}/pause`)).status).toBe(200)
    expect((await post(`/jobs/${segment}/cancel`)).status).toBe(200)
    expect((await runtime.job(name))?.id).toBe(name)
  }
  expect((await runtime.counts()).cancelled).toBe(names.length)
  expect((await runtime.schedules()).every(({ paused }) => paused)).toBe(true)
  // However its characters are encoded.
  for (const path of ['~.', '%7e.', '~%2E', '%7E%2e']) expect(await get(`/queues/${path}`)).toMatchObject({ type: '.' })
})
