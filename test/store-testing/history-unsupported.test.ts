/**
 * Histories of jobs that were put off because no worker could run them: their records leave out what the checker need
 * not miss.
 */
import { createRuntime, defineJob, memoryStore, type JobRecord } from 'jobchart'
import { checkHistory, finalState, recordingStore, type HistoryLine } from 'jobchart/store-testing'
import { VirtualClock } from 'jobchart/testing'
import { createMachine } from 'xstate'
import { expect, test } from 'vitest'

const orderOf = (version: string) =>
  defineJob({
    type: 'order',
    version,
    machine: createMachine({ id: 'order', initial: `v${version}`, states: { [`v${version}`]: { type: 'final' } } }),
  })

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** A job that an older worker puts off for half an hour, until a newer one comes. */
async function history() {
  const clock = new VirtualClock()
  const lines: HistoryLine[] = []
  const store = recordingStore(memoryStore(), (line) => void lines.push(structuredClone(line)))
  const [old, current] = [orderOf('1'), orderOf('2')].map((job) =>
    createRuntime({ jobs: [job], store, clock, logger: quiet }),
  )
  if (old === undefined || current === undefined) throw new TypeError('two runtimes')
  await old.start()
  const jobs = [{ id: 'a', type: 'order', input: undefined, priority: 0, maxAttempts: 3, tags: [], version: '2' }]
  const rest = { concurrencyKey: null, runAt: null, delayMs: 0, key: null, onConflict: 'keep' } as const
  await store.insert([{ jobs: jobs.map((job) => ({ ...job, ...rest })), capacity: null }])
  await clock.advance('30m')
  await old.stop()
  await current.start()
  await clock.advance('1s')
  await current.stop()
  return { lines, final: await finalState(store) }
}

test('what lies between two such claims may be left out of the record, whether the log or the calls tell of it', async () => {
  const { lines, final } = await history()
  expect(final.records[0]).toMatchObject({ state: 'done', version: '2' })
  expect(checkHistory(lines, { final }).violations).toEqual([])
  expect(checkHistory(lines, { final: { ...final, transitions: [] } }).violations).toEqual([])
})

test('what comes after the last of them may not', async () => {
  const { lines, final } = await history()
  const records = final.records.map((record): JobRecord => {
    return {
      ...record,
      history: record.history.filter(({ event }, i) => event !== 'DUE' && (event !== 'CLAIM' || i < 2)),
    }
  })
  const found = checkHistory(lines, { final: { ...final, records } }).violations
  expect(found.filter(({ invariant }) => invariant === 'I1')).toHaveLength(2)
})
