/** The tables of a file do not depend on the chart of a job: a copy of the sources with one state more goes on with old files. */
import { expect, onTestFinished, test } from 'vitest'
import { SourceCopy } from '../support/source-copy.ts'

test('a chart with one state more opens files of every released version and finishes their jobs', async () => {
  const copy = new SourceCopy()
  onTestFinished(() => copy.remove())
  const { failed } = await copy.test('test/stores/sqlite-old-files.test.ts', {
    name: 'a state between two others',
    file: 'machines/job.machine.ts',
    right: `    retrying: {\n`,
    wrong: `    blocked: { tags: ['live'], description: 'waits for another job', on: { CANCEL: 'cancelled' } },\n    retrying: {\n`,
  })
  expect(failed).toEqual([])
})
