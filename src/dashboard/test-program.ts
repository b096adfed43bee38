/** A job as a test in virtual time: a program that enqueues it again, and sends it what it was sent, when it was. */
import type { JobRecord, Json } from '../index.ts'
import { JobchartError } from '../core/errors.ts'
import { innermost } from '../core/state-paths.ts'
import { inTurns } from './in-turns.ts'
import { eventsShown } from './machine-shown.ts'
import type { DashboardSettings } from './options.ts'
import { redacted, type ShownRecord } from './redaction.ts'

export interface TestProgram {
  /** A name for its file. */
  readonly file: string
  readonly program: string
}

/** Something that was done to the job, ms after its enqueue. */
interface Act {
  readonly after: number
  readonly code: string
}

/**
 * @throws JobchartError NOT_FOUND if the beginning of the job is not kept, or more events led to a checkpoint than are
 *   kept
 */
export async function testProgram(settings: DashboardSettings, record: JobRecord): Promise<TestProgram> {
  const { id, type, input, tags, meta, enqueuedAt } = record
  const shown = redacted<ShownRecord>(settings.redact, { id, type, input, tags, meta })
  const acts = await actsOf(settings, record)
  const options = {
    id,
    ...((shown.tags ?? []).length > 0 && { tags: shown.tags }),
    ...(Object.keys(shown.meta ?? {}).length > 0 && { meta: shown.meta }),
  }
  const times = [record.finishedAt, record.history.at(-1)?.at, enqueuedAt + (acts.at(-1)?.after ?? 0)]
  const end = Math.max(...times.map((at) => at ?? 0)) - enqueuedAt
  const lines: string[] = []
  let passed = 0
  for (const { after, code } of [...acts, { after: end, code: '' }]) {
    if (after > passed) lines.push(`await clock.advance(${after - passed})`)
    passed = Math.max(passed, after)
    if (code !== '') lines.push(code, 'await clock.settle()')
  }
  const states = innermost(record.machineStates)
  const program = [
    `// The job ${oneLine(id)} of the type ${oneLine(type)}, enqueued at ${new Date(enqueuedAt).toISOString()}, in virtual time.`,
    `import assert from 'node:assert/strict'`,
    `import { test } from 'node:test'`,
    `import { createTestRuntime } from 'jobchart/testing'`,
    `// A list of its definition and of those of the jobs that it begins.`,
    `import { jobs } from './jobs.ts'`,
    '',
    `test(${literal(`${type} ${id} goes the way that it went`)}, async () => {`,
    `  const { runtime, clock } = await createTestRuntime({ jobs, lease: '1d' })`,
    `  const job = await runtime.enqueueByName(${literal(type)}, ${literal(shown.input)}, ${literal(options)})`,
    '  await clock.settle()',
    ...lines.map((line) => `  ${line}`),
    `  const { state${states.length > 0 ? ', machineStates' : ''} } = await job.record()`,
    `  assert.equal(state, ${literal(record.state)})`,
    ...(states.length > 0
      ? [`  for (const each of ${literal(states)}) assert.ok(machineStates.includes(each), each)`]
      : []),
    `  await runtime.stop({ mode: 'abort' })`,
    '})',
    '',
  ].join('\n')
  return { file: `${id.replaceAll(/[^\w.-]+/g, '-').slice(0, 80)}.test.ts`, program }
}

async function actsOf(settings: DashboardSettings, record: JobRecord): Promise<Act[]> {
  const runner = settings.client.jobs.get(record.type)?.machine ?? null
  if (runner === null) return []
  const kept = await settings.client.store.checkpoints(record.id)
  if (kept[0] !== undefined && kept[0].number !== 1) {
    const hint = 'A job keeps its last 50 checkpoints: copy the test of a shorter life.'
    throw new JobchartError('NOT_FOUND', `the first checkpoint of job ${record.id} is not kept any more`, { hint })
  }
  const acts = await inTurns(kept, ({ number, state }) => {
    const events = runner.eventsAt(state, null)
    if (events === null) {
      throw new JobchartError('NOT_FOUND', `the events of checkpoint ${number} were more than are kept`)
    }
    return eventsShown(settings, record, events, null).flatMap(({ at, from, type, data }): Act[] => {
      const after = Math.max(0, Math.round(at - record.enqueuedAt))
      if (from === 'caller') {
        const event = { type, ...(data as Record<string, Json>) }
        return [{ after, code: `await job.send(${literal(event)})` }]
      }
      return from === 'cancel' ? [{ after, code: 'await job.cancel()' }] : []
    })
  })
  return acts.flat()
}

/** A value as JavaScript: JSON, in which `__proto__` would be no member. */
const literal = (value: unknown): string =>
  value === undefined ? 'undefined' : JSON.stringify(value).replaceAll('"__proto__":', '["__proto__"]:')

/** Names are anything a person writes: in a comment they end with its line. */
const oneLine = (name: string): string => name.replaceAll(/[\s\p{Cc}]+/gu, ' ')
