/** Bad stories of machines: each one breaks a promise in its own way, and names who must notice. */
import type { HistoryLine } from 'jobchart/store-testing'
import { answer, type BadStory, uncall } from './history-bad-stories.ts'
import { bend, rest, type End, type Story } from './history-story.ts'

/** A machine that is written to, rests, crashes, goes on, parks, is woken, fails, and is done. */
export async function machineStory(story: Story): Promise<void> {
  await story.enqueue('a', { maxAttempts: 2 })
  const [first] = await story.claim()
  await story.checkpoint(first, rest(1))
  await story.send('a', 'l1', 'l2', 'l1')
  await story.extend(first, 0)
  await story.checkpoint(first, rest(2, 1))
  await story.crash()
  const [second] = await story.claim()
  await story.settle(second, 'PARK', rest(3, 2))
  await story.send('a', 'l3')
  const [third] = await story.claim()
  await story.settle(third, 'FAIL', rest(4, 3))
  await story.store.promote(10)
  const [fourth] = await story.claim()
  await story.checkpoint(fourth, rest(5, 3))
  await story.settle(fourth)
}

/** A machine that takes its cancel, and comes to its own end before it has read all that it was given. */
async function cancelledStory(story: Story): Promise<void> {
  await story.enqueue('a')
  const [job] = await story.claim()
  await story.checkpoint(job, rest(1, 0, true))
  await story.send('a', 'l1', 'l2', 'l3')
  await story.extend(job, 0)
  await story.cancel('a')
  await story.settle(job, 'COMPLETE', rest(2, 1), true)
}

/** A machine that came to a checkpoint in its second attempt, and crashed all the same. */
async function checkpointed(story: Story): Promise<void> {
  await story.enqueue('a', { maxAttempts: 2 })
  await story.claim()
  await story.crash()
  await story.checkpoint((await story.claim())[0], rest(1))
  await story.crash()
  await story.run()
}

/** The nth time that something was asked, to be changed. */
function asked<Op extends HistoryLine['op']>(
  end: End,
  op: Op,
  n = 0,
): Extract<HistoryLine, { op: Op; invoke: unknown }> {
  const found = end.lines.filter((line) => line.op === op && 'invoke' in line)[n]
  if (found === undefined) throw new Error(`${op} was not asked`)
  return found as Extract<HistoryLine, { op: Op; invoke: unknown }>
}

/** As if the nth claim had given something else. */
const given = (end: End, n: number, change: { checkpoint?: number; inbox?: readonly number[] }): unknown =>
  Object.assign(answer(end, 'claim', n).ok[0] ?? {}, change)

/** As if the nth checkpoint had asked for something else. */
const wrote = (end: End, n: number, change: { number?: number; read?: number }): unknown =>
  Object.assign(asked(end, 'checkpoint', n).invoke[0]?.checkpoint ?? {}, change)

/** As if the nth settlement had brought another checkpoint. */
const brought = (end: End, n: number, change: { number?: number; read?: number }): unknown =>
  Object.assign(asked(end, 'settle', n).invoke[0]?.checkpoint ?? {}, change)

const bad = (what: string, change: (end: End) => unknown): BadStory => ({
  what: `I11: ${what}`,
  caught: ['I11'],
  tell: machineStory,
  bend: change,
})

export const badMachineStories: readonly BadStory[] = [
  bad('an attempt goes on from a checkpoint that is not the last', (end) => given(end, 1, { checkpoint: 1 })),
  bad('an attempt starts anew', (end) => given(end, 1, { checkpoint: 0 })),
  bad('an attempt goes on from a checkpoint that was never written', (end) => given(end, 1, { checkpoint: 3 })),
  bad('an attempt goes on from before the checkpoint of a settlement', (end) => given(end, 2, { checkpoint: 2 })),
  bad('a new job stands somewhere', (end) => given(end, 0, { checkpoint: 1 })),
  bad('a checkpoint is left out', (end) => wrote(end, 1, { number: 3 })),
  bad('a checkpoint of a settlement is left out', (end) => brought(end, 0, { number: 4 })),
  bad('a checkpoint is written over', (end) => wrote(end, 2, { number: 3 })),
  bad('what is read goes back', (end) => wrote(end, 2, { read: 2 })),
  bad('more is read than was given', (end) => wrote(end, 1, { read: 3 })),
  bad('more is read than was given, at the end of an attempt', (end) => brought(end, 1, { read: 4 })),
  bad('a message is handed out again after it was read', (end) => given(end, 1, { inbox: [1, 2] })),
  bad('a message is gone that was not read', (end) => given(end, 1, { inbox: [] })),
  bad('messages come out of order', (end) => given(end, 2, { inbox: [4, 3] })),
  bad('a message is left out', (end) => given(end, 2, { inbox: [4] })),
  bad('a checkpoint answers with a message that it has read', (end) =>
    Object.assign(answer(end, 'checkpoint', 1).ok[0] ?? {}, { inbox: [1, 2] }),
  ),
  bad('in the end it stands elsewhere', (end) =>
    bend(end, 'a', (record) => void (record.checkpoint = { number: 4, state: 4 })),
  ),
  bad('in the end it stands nowhere', (end) => bend(end, 'a', (record) => void (record.checkpoint = null))),
  bad('in the end fewer messages have come than were acknowledged', (end) =>
    bend(end, 'a', (record) => void (record.lastMessageNumber = 2)),
  ),
  bad('a message is kept twice', (end) => Object.assign(answer(end, 'send', 0).ok[2] ?? {}, { outcome: 'kept' })),
  bad('a message is known that nobody sent', (end) =>
    Object.assign(answer(end, 'send', 1).ok[0] ?? {}, { outcome: 'duplicate' }),
  ),
  {
    what: 'I11: an acknowledged message does not come',
    caught: ['I11'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.send('a', 'l1')
      await story.settle((await story.claim())[0], 'COMPLETE', rest(1, 1))
    },
    bend: (end) => {
      given(end, 0, { inbox: [] })
      brought(end, 0, { read: 0 })
    },
  },
  {
    what: 'I11: a message is gone that a heartbeat had brought',
    caught: ['I11'],
    tell: async (story) => {
      await story.enqueue('a')
      const [parent] = await story.claim()
      await story.enqueue('child', { parent: { id: 'a', checkins: false } })
      await story.run()
      await story.extend(parent, 0)
      await story.crash()
      await story.settle((await story.claim())[0], 'COMPLETE', rest(1, 1))
    },
    bend: (end) => {
      given(end, 2, { inbox: [] })
      brought(end, 1, { read: 0 })
    },
  },
  {
    what: 'I11: a message is lost in the end',
    caught: ['I11'],
    tell: async (story) => {
      await story.enqueue('a', { maxAttempts: 1 })
      await story.send('a', 'l1')
      await story.settle((await story.claim())[0], 'FAIL')
    },
    bend: (end) => bend(end, 'a', (record) => void (record.inbox = [])),
  },
  {
    what: 'I11: a machine has ended as cancelled, and holds messages',
    caught: ['I11'],
    tell: cancelledStory,
    bend: (end) =>
      bend(end, 'a', (record) => {
        record.inbox = [{ number: 2, at: 0, message: { kind: 'event', event: { type: 'GO' } } }]
      }),
  },
  {
    what: 'I11: another message is the last one in the end',
    caught: ['I11'],
    tell: async (story) => {
      await story.enqueue('a', { maxAttempts: 1 })
      await story.send('a', 'l1')
      await story.settle((await story.claim())[0], 'FAIL')
    },
    bend: (end) => bend(end, 'a', (record) => void (record.lastMessageNumber = 2)),
  },
  {
    what: 'I11: a machine is done, and has not read what it was given',
    caught: ['I11'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.send('a', 'l1')
      await story.settle((await story.claim())[0], 'COMPLETE', rest(1))
    },
  },
  {
    what: 'I11: a machine waits, and messages for it',
    caught: ['I11', 'I6'],
    tell: async (story) => {
      await story.enqueue('a')
      await story.settle((await story.claim())[0], 'PARK', rest(1))
      await story.send('a', 'l1')
      await story.settle((await story.claim())[0], 'COMPLETE', rest(2, 1))
    },
    bend: (end) => {
      uncall(end, 'settle', 1)
      uncall(end, 'claim', 1)
      Object.assign(answer(end, 'send').ok[0] ?? {}, { state: 'waiting', transition: undefined })
      bend(end, 'a', (record) => {
        record.history = record.history.slice(0, 3)
        record.state = 'waiting'
        record.attempt = 0
        record.checkpoint = { number: 1, state: 1 }
        record.inbox = [{ number: 1, at: 0, message: { kind: 'event', event: { type: 'GO' } } }]
      })
    },
  },
  {
    what: 'I3: an attempt that came to a checkpoint is counted',
    caught: ['I3'],
    tell: checkpointed,
    bend: (end) => bend(end, 'a', (record) => void (record.maxAttempts = 2)),
  },
  {
    what: 'I3: an attempt that led to no checkpoint is not counted',
    caught: ['I3'],
    tell: checkpointed,
    bend: (end) => (end.final.transitions = end.final.transitions?.filter(({ event }) => event !== 'CHECKPOINT') ?? []),
  },
  {
    what: 'I4: a checkpoint in the name of an attempt that is over',
    caught: ['I4'],
    tell: async (story) => {
      await story.enqueue('a')
      const [zombie] = await story.claim()
      await story.crash()
      await story.checkpoint(zombie, rest(1))
      const [heir] = await story.claim()
      await story.settle(heir, 'COMPLETE', rest(1))
    },
    bend: (end) => {
      Object.assign(answer(end, 'checkpoint').ok[0] ?? {}, { outcome: 'kept' })
      given(end, 1, { checkpoint: 1 })
      brought(end, 0, { number: 2 })
      bend(end, 'a', (record) => void (record.checkpoint = { number: 2, state: 2 }))
    },
  },
  {
    what: 'I7: a machine that has taken its cancel is done',
    caught: ['I7'],
    tell: async (story) => {
      await story.enqueue('a')
      const [job] = await story.claim()
      await story.checkpoint(job, rest(1, 0, true))
      await story.cancel('a')
      await story.settle(job, 'COMPLETE', undefined, true)
    },
    bend: (end) => {
      Object.assign(answer(end, 'settle').ok[0] ?? {}, { from: 'running', to: 'done' })
      bend(end, 'a', (record) => {
        const [enqueue, claim, , complete] = record.history
        if (!enqueue || !claim || !complete) throw new Error('the story was another')
        record.history = [enqueue, claim, { ...complete, from: 'running', to: 'done' }]
        record.state = 'done'
      })
    },
  },
]
