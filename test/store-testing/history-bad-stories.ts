/** Bad stories: each one breaks a promise in its own way, and names who must notice. */
import type { HistoryLine } from 'jobchart/store-testing'
import { prune } from '../../src/store-testing/conformance/acts.ts'
import { bend, drop, leaseMs, type End, type Story } from './history-story.ts'

/** A retention that keeps all. */
export const keep = { ageMs: 1e9, count: 100 }

type Calls = { [Op in HistoryLine['op']]: Extract<HistoryLine, { op: Op; ok: unknown }> }

/** The nth answer of an operation, to be changed. */
export function answer<Op extends HistoryLine['op']>(
  end: End,
  op: Op,
  n = 0,
): { ok: Calls[Op]['ok']; at: number; call: string } {
  const found = end.lines.filter((line) => line.op === op && 'ok' in line)[n]
  if (found === undefined) throw new Error(`no answer to ${op}`)
  return found as unknown as { ok: Calls[Op]['ok']; at: number; call: string }
}

/** As if an answer had never come. */
export function unanswer(end: End, op: HistoryLine['op'], n: number): void {
  const { call } = answer(end, op, n)
  end.lines = end.lines.filter((line) => line.call !== call || 'invoke' in line)
}

/** As if a call had never been. */
export function uncall(end: End, op: HistoryLine['op'], n: number): void {
  const { call } = answer(end, op, n)
  end.lines = end.lines.filter((line) => line.call !== call)
}

/** Removes a step from the record of a job. */
export const forget = (end: End, id: string, event: string): void =>
  bend(end, id, (record) => {
    record.history = record.history.filter((entry) => entry.event !== event)
  })

export interface BadStory {
  readonly what: string
  readonly caught: readonly string[]
  readonly tell?: (story: Story) => Promise<unknown>
  readonly bend?: (end: End) => unknown
}

/** The story of one job: enqueued, claimed, done. */
export const simple = async (story: Story): Promise<void> => {
  await story.enqueue('a')
  await story.run()
}

export const twoAttempts = async (story: Story): Promise<void> => {
  await story.enqueue('a')
  await story.claim()
  await story.pass(leaseMs)
  await story.store.rescue(10)
  await story.run()
}

export const badStories: readonly BadStory[] = [
  { what: 'I1: an acknowledged job is gone', caught: ['I1'], bend: (end) => drop(end, 'a') },
  {
    what: 'I1: more jobs are gone than were pruned',
    caught: ['I1'],
    tell: async (story) => {
      for (const id of ['a', 'b']) {
        await story.enqueue(id)
        await story.run()
      }
      await prune(story.store, { done: { ageMs: 1e9, count: 1 }, dead: keep, cancelled: keep }, 10)
    },
    bend: (end) => drop(end, 'b'),
  },
  {
    what: 'I1: a job is there twice',
    caught: ['I1', 'I12'],
    bend: ({ final }) => (final.records = [...final.records, ...final.records]),
  },
  { what: 'I1: a job that nobody enqueued', caught: ['I1'], bend: (end) => uncall(end, 'insert', 0) },
  {
    what: 'I1: a job that was refused as full',
    caught: ['I1'],
    bend: (end) => Object.assign(answer(end, 'insert').ok[0]?.[0] ?? {}, { outcome: 'full', seq: 0, at: 0 }),
  },
  {
    what: 'I1: an acknowledged end is not written',
    caught: ['I1', 'I2'],
    bend: (end) =>
      bend(end, 'a', (record) => {
        record.history = record.history.map((entry) => (entry.event === 'COMPLETE' ? { ...entry, seq: 99 } : entry))
      }),
  },
  {
    what: 'I2: an end is left, and not by RETRY',
    caught: ['I2'],
    bend: (end) =>
      bend(end, 'a', (record) => {
        const at = { at: record.finishedAt ?? 0, attempt: 1 }
        record.history = [
          ...record.history,
          { ...at, seq: 90, event: 'DUE', from: 'done', to: 'queued' },
          { ...at, seq: 91, event: 'CANCEL', from: 'queued', to: 'cancelled' },
        ]
        record.state = 'cancelled'
      }),
  },
  {
    what: 'I2: a job is not where its last transition has led',
    caught: ['I2'],
    bend: (end) => bend(end, 'a', (record) => void (record.state = 'dead')),
  },
  {
    what: 'I2: a transition is told in two ways',
    caught: ['I2'],
    bend: (end) => Object.assign(answer(end, 'settle').ok[0] ?? {}, { to: 'dead' }),
  },
  {
    what: 'I2: two jobs share a place in the order of all transitions',
    caught: ['I12', 'I2'],
    tell: async (story) => {
      await simple(story)
      await story.enqueue('b')
      await story.run()
    },
    bend: (end) => {
      unanswer(end, 'settle', 1)
      bend(end, 'b', (record) => {
        record.history = record.history.map((entry) => (entry.event === 'COMPLETE' ? { ...entry, seq: 3 } : entry))
      })
    },
  },
  {
    what: 'I3: an attempt is not counted',
    caught: ['I3'],
    tell: twoAttempts,
    bend: (end) => {
      uncall(end, 'settle', 0)
      uncall(end, 'claim', 1)
      bend(end, 'a', (record) => {
        record.attempt = 1
        record.history = record.history.map((entry) => ({ ...entry, attempt: Math.min(1, entry.attempt) }))
      })
    },
  },
  {
    what: 'I3: one attempt more than there may be',
    caught: ['I3'],
    tell: twoAttempts,
    bend: (end) => bend(end, 'a', (record) => void (record.maxAttempts = 1)),
  },
  {
    what: 'I3: dead with attempts left',
    caught: ['I3'],
    tell: async (story) => {
      await story.enqueue('a', { maxAttempts: 1 })
      await story.claim()
      await story.pass(leaseMs)
      await story.store.rescue(10)
    },
    bend: (end) => bend(end, 'a', (record) => void (record.maxAttempts = 2)),
  },
  {
    what: 'I3: one claim starts two runs',
    caught: ['I3'],
    bend: ({ lines }) => {
      for (const call of ['r1', 'r2']) {
        lines.push({ op: 'run', call, at: 0, invoke: { id: 'a', type: 'job', attempt: 1, generation: 1, seq: 2 } })
      }
    },
  },
  {
    what: 'I3: a run without a claim',
    caught: ['I3'],
    bend: ({ lines }) =>
      lines.push({ op: 'run', call: 'r', at: 0, invoke: { id: 'a', type: 'job', attempt: 1, generation: 1, seq: 77 } }),
  },
  {
    what: 'I4: a settle in the name of an attempt that is over',
    caught: ['I4'],
    tell: twoAttempts,
    bend: ({ lines }) => {
      for (const line of lines) if (line.op === 'settle' && 'invoke' in line) tokens(line.invoke, 't1', 1)
    },
  },
  {
    what: 'I4: a settle with a token that nobody was given',
    caught: ['I4'],
    bend: ({ lines }) => {
      for (const line of lines) if (line.op === 'settle' && 'invoke' in line) tokens(line.invoke, 'forged', 1)
    },
  },
  {
    what: 'I4: a heartbeat after the attempt was over',
    caught: ['I4'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.settle(job)
      await story.extend(job)
    },
    bend: (end) => Object.assign(answer(end, 'extend'), { ok: [{ outcome: 'extended' }] }),
  },
  {
    what: 'I4: a settle is refused though its attempt is current',
    caught: ['I4'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.settle(job)
      await story.settle(job)
    },
    bend: (end) => {
      const { call } = answer(end, 'settle', 1)
      // The first of the two was the refused one, and the second came later.
      Object.assign(answer(end, 'settle', 0).ok[0] ?? {}, { outcome: 'lost' })
      for (const line of end.lines) if (line.call === call) Object.assign(line, { at: line.at + 1 })
      bend(end, 'a', (record) => {
        record.history = record.history.map((e) => (e.event === 'COMPLETE' ? { ...e, at: e.at + 10 } : e))
      })
      Object.assign(answer(end, 'settle', 1).ok[0] ?? {}, { at: (answer(end, 'settle', 1).ok[0]?.at ?? 0) + 10 })
    },
  },
  {
    what: 'I5: a lease is taken before it has run out',
    caught: ['I5'],
    tell: twoAttempts,
    bend: ({ lines }) => {
      for (const line of lines) {
        if (line.op === 'claim' && 'invoke' in line) Object.assign(line.invoke, { leaseMs: leaseMs * 2 })
      }
    },
  },
  {
    what: 'I5: a lease is taken though it was extended',
    caught: ['I5'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.extend(job)
      await story.pass(leaseMs)
      await story.store.rescue(10)
      await story.run()
    },
    bend: ({ lines }) => {
      for (const line of lines) if (line.op === 'extend') Object.assign(line, { at: line.at + leaseMs / 2 })
    },
  },
  {
    what: 'I5: a run beside another whose lease was not over',
    caught: ['I5'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.settle((await story.claim())[0], 'RELEASE')
      await story.run()
    },
    bend: ({ lines, final }) => {
      const [record] = final.records
      const claims = record?.history.filter(({ event }) => event === 'CLAIM') ?? []
      for (const [i, { seq, at, attempt }] of claims.entries()) {
        lines.push(
          { op: 'run', call: `r${i}`, at, invoke: { id: 'a', type: 'job', attempt, generation: 1, seq } },
          { op: 'run', call: `r${i}`, at: at + 100, ok: null },
        )
      }
    },
  },
  { what: 'I6: a job is left', caught: ['I6'], tell: (story) => story.enqueue('a') },
  {
    what: 'I7: a job starts after its cancel',
    caught: ['I2', 'I7'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.cancel('a')
    },
    bend: (end) =>
      bend(end, 'a', (record) => {
        const at = end.final.at
        record.history = [
          ...record.history,
          { seq: 50, at, attempt: 1, event: 'CLAIM', from: 'queued', to: 'running' },
          { seq: 51, at, attempt: 1, event: 'COMPLETE', from: 'running', to: 'done' },
        ]
        record.state = 'done'
      }),
  },
  {
    what: 'I7: an acknowledged cancel has left no trace',
    caught: ['I7'],
    bend: ({ lines }) => {
      const none = { cancelled: [], notFound: [], finished: [], transitions: [] }
      lines.push(
        { op: 'cancel', call: 'c', at: 0, invoke: [{ ids: ['a'], reason: null, graceMs: 0 }] },
        { op: 'cancel', call: 'c', at: 0, ok: [{ ...none, cancelling: ['a'] }] },
      )
    },
  },
  {
    what: 'I8: two live jobs with one key',
    caught: ['I8'],
    tell: async (story) => {
      await story.enqueue('a', { key: 'k' })
      await story.enqueue('b', { key: 'other' })
      await story.run()
      await story.run()
    },
    bend: (end) => bend(end, 'b', (record) => void (record.key = 'k')),
  },
  {
    what: 'I8: a job that runs beside the one that it supersedes',
    caught: ['I8'],
    tell: async (story) => {
      await story.enqueue('a', { key: 'k' })
      const [a] = await story.claim()
      await story.enqueue('b', { key: 'k', onConflict: 'supersede' })
      await story.enqueue('c', { key: 'other' })
      await story.run()
      await story.settle(a)
      await story.run()
    },
    bend: (end) => bend(end, 'c', (record) => void (record.key = 'k')),
  },
  {
    what: 'I8: a job that runs beside the one that it follows',
    caught: ['I8'],
    tell: async (story) => {
      await story.enqueue('a', { key: 'k', until: 'start' })
      const [a] = await story.claim()
      await story.enqueue('b', { key: 'k' })
      await story.enqueue('c', { key: 'other' })
      await story.run()
      await story.settle(a)
      await story.run()
    },
    bend: (end) => bend(end, 'c', (record) => void (record.key = 'k')),
  },
  {
    what: 'I8: a key without a holder',
    caught: ['I8'],
    tell: async (story) => {
      await story.enqueue('a', { key: 'k' })
      await story.enqueue('b', { key: 'k' })
      await story.run()
    },
    bend: (end) => {
      const { call } = answer(end, 'insert', 1)
      for (const line of end.lines) if (line.call === call) Object.assign(line, { at: line.at + 1_000 })
    },
  },
  {
    what: 'I8: a holder that is not there',
    caught: ['I8'],
    tell: async (story) => {
      await story.enqueue('a', { key: 'k' })
      await story.enqueue('b', { key: 'k' })
      await story.run()
    },
    bend: (end) => Object.assign(answer(end, 'insert', 1).ok[0]?.[0] ?? {}, { id: 'ghost' }),
  },
  {
    what: 'I8: the holder of another key',
    caught: ['I8'],
    tell: async (story) => {
      await story.enqueue('a', { key: 'k' })
      await story.enqueue('b', { key: 'k' })
      await story.run()
    },
    bend: (end) => bend(end, 'a', (record) => void (record.key = 'other')),
  },
  {
    what: 'I10: a claim during a pause',
    caught: ['I10'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.pause(true)
      await story.pass(1_000)
      await story.pause(false)
      await story.run()
    },
    bend: ({ lines }) => {
      for (const line of lines) {
        if (line.op === 'queue' && 'invoke' in line && !line.invoke.paused) Object.assign(line, { at: line.at + 50 })
      }
    },
  },
  {
    what: 'I12: a count that leaked',
    caught: ['I12'],
    bend: ({ final }) => (final.counts = { ...final.counts, running: 1, cursor: final.counts.cursor }),
  },
  {
    what: 'I12: a transition is missing in the log',
    caught: ['I12'],
    bend: ({ final }) => (final.transitions = final.transitions?.filter(({ event }) => event !== 'CLAIM') ?? []),
  },
  {
    what: 'I12: the log is out of order',
    caught: ['I12'],
    bend: ({ final }) => (final.transitions = final.transitions?.toReversed() ?? []),
  },
  {
    what: 'I13: more are kept than are to be',
    caught: ['I13'],
    tell: async (story) => {
      await simple(story)
      await prune(story.store, { done: keep, dead: keep, cancelled: keep }, 10)
    },
    bend: ({ lines }) => retain(lines, { ageMs: 1e9, count: 0 }),
  },
  {
    what: 'I13: one is kept longer than it is to be',
    caught: ['I13'],
    tell: async (story) => {
      await simple(story)
      await prune(story.store, { done: keep, dead: keep, cancelled: keep }, 10)
    },
    bend: ({ lines }) => retain(lines, { ageMs: 5, count: 100 }),
  },
  {
    what: 'I7: a handler starts after the cancel of its job was answered',
    caught: ['I7'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.cancel('a')
      await story.pass(500)
      await story.begin(job)
      await story.settle(job, 'RELEASE')
    },
    bend: (end) => (end.startMs = 400),
  },
  {
    what: 'I10: a handler starts after the pause of its queue was answered',
    caught: ['I10'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.pause(true)
      await story.pass(500)
      await story.begin(job)
      await story.pause(false)
      await story.settle(job)
    },
    bend: (end) => (end.startMs = 400),
  },
  {
    what: 'steps: a step that is stored is done again by the next attempt',
    caught: ['steps'],
    tell: async (story) => {
      await story.enqueue('a')
      const [first] = await story.claim()
      await story.step(first, 'charge')
      await story.crash()
      const [second] = await story.claim()
      await story.step(second, 'mail')
      await story.settle(second)
    },
    bend: ({ lines }) => {
      for (const line of lines)
        if (line.op === 'step' && 'invoke' in line) Object.assign(line.invoke, { name: 'charge' })
    },
  },
  {
    what: 'steps: a step is begun after the lease of its run has run out',
    caught: ['steps'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.crash()
      await story.run()
      await story.pass(500)
      await story.step(job, 'charge')
    },
    bend: (end) => (end.startMs = 400),
  },
  {
    what: 'late: a lease that is left for long',
    caught: ['late'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.claim()
      await story.pass(leaseMs + 500)
      await story.store.rescue(10)
      await story.run()
    },
    bend: (end) => (end.rescueMs = 400),
  },
  {
    what: 'caps: two at once where one may be',
    caught: ['caps'],
    tell: overlapping,
    bend: (end) => (end.limits = { job: { concurrency: 1, perKey: null, rate: null } }),
  },
  {
    what: 'caps: two of a key at once where one may be',
    caught: ['caps'],
    tell: overlapping,
    bend: (end) => (end.limits = { job: { concurrency: 2, perKey: 1, rate: null } }),
  },
  {
    what: 'caps: two starts in a window for one',
    caught: ['caps'],
    tell: overlapping,
    bend: (end) => (end.limits = { job: { concurrency: null, perKey: null, rate: { limit: 1, perMs: 1_000 } } }),
  },
  {
    what: 'caps: two starts of a key in a window for one',
    caught: ['caps'],
    tell: overlapping,
    bend: (end) => {
      const keyRate = { limit: 1, perMs: 1_000 }
      end.limits = { job: { concurrency: null, perKey: null, rate: null, keyRate } }
    },
  },
]

export async function overlapping(story: Story): Promise<void> {
  for (const id of ['a', 'b']) await story.enqueue(id, { concurrencyKey: 'tenant' })
  for (const job of await story.claim(2)) await story.settle(job)
}

function tokens(names: readonly { token: string; attempt: number }[], token: string, attempt: number): void {
  for (const name of names) Object.assign(name, { token, attempt })
}

function retain(lines: readonly HistoryLine[], done: { ageMs: number; count: number }): void {
  for (const line of lines) if (line.op === 'retain' && 'invoke' in line) Object.assign(line.invoke.others, { done })
}
