/** Durable promises, killed at every write: attempts are counted and steps kept as if nothing had happened. */
import { constant, defineJob, durable } from 'jobchart'
import { assign, enqueueActions, setup, type DoneActorEvent } from 'xstate'
import { expect, test } from 'vitest'
import type { CutKind } from './support/cut-store.ts'
import { didIn, prove } from './support/prove.ts'
import type { KeptMachine } from './support/spied-store.ts'
import { live, type Chronicle, type Story, type Teller } from './support/lives.ts'

/** Fails twice: before its second step, and in its third. */
const charge = (tell: Teller, name: string) =>
  durable<string, string>(
    async ({ attempt, step, input }) => {
      tell.did(`${name} attempt ${attempt}`)
      const a = await step('a', () => {
        tell.did(`${name} a`)
        return `a of ${input}`
      })
      if (attempt === 1) throw new Error('first')
      const b = await step('b', async () => {
        tell.did(`${name} b`)
        await tell.clock.sleep('1s')
        return 'b'
      })
      const c = await step('c', () => {
        tell.did(`${name} c`)
        if (attempt === 2) throw new Error('second')
        return attempt
      })
      return [a, b, c].join()
    },
    { retry: { maxAttempts: 3, backoff: constant('1m') } },
  )

const one: Story = {
  jobs: (tell) => [
    defineJob({
      type: 'one',
      retry: { maxAttempts: 9 },
      machine: setup({
        types: { context: {} as { log: string[] } },
        actors: { charge: charge(tell, 'charge') },
      }).createMachine({
        context: { log: [] },
        initial: 'charging',
        states: {
          charging: {
            invoke: {
              src: 'charge',
              input: 'tea',
              onDone: { target: 'resting', actions: assign({ log: ({ event }) => [event.output] }) },
              onError: { target: 'end', actions: assign({ log: ({ event }) => [String(event.error)] }) },
            },
          },
          resting: { after: { '5m': 'end' } },
          end: { type: 'final' },
        },
        output: ({ context }) => context.log,
      }),
    }),
  ],
}

/** An attempt begins when it is written that it does. */
function checkAttempts({ told }: Chronicle, where: string): void {
  let kept: KeptMachine | undefined
  for (const each of told) {
    if (each.kind === 'kept') kept = each.state.snapshot.children?.['0.(machine).charging']?.snapshot
    const number = each.kind === 'did' ? /^charge attempt (\d)/.exec(each.what)?.[1] : undefined
    if (number === undefined) continue
    expect(kept?.attempt, `${where}, attempt ${number}`).toMatchObject({ number: Number(number), delayMs: null })
  }
}

const timesOf = (chronicle: Chronicle): Map<string, number> => {
  const times = new Map<string, number>()
  for (const what of didIn(chronicle.told)) times.set(what, (times.get(what) ?? 0) + 1)
  return times
}

test('a kill at any write loses no attempt and no finished step; what it cut off is done once more', async () => {
  const without = await live(one)
  expect(without.output).toEqual(['a of tea,b,3'])
  const told = ['attempt 1', 'a', 'attempt 2', 'b', 'c', 'attempt 3', 'c'].map((what) => `charge ${what}`)
  expect(didIn(without.told)).toEqual(told)
  const writes = without.writes[0] as number
  expect(writes).toBeGreaterThan(10)
  for (let at = 1; at <= writes; at++) {
    for (const kind of ['before', 'after'] satisfies CutKind[]) {
      const where = `killed ${kind} write ${at}`
      const chronicle = await live(one, [{ at, kind }])
      expect([chronicle.state, chronicle.output], where).toEqual(['done', ['a of tea,b,3']])
      const times = timesOf(chronicle)
      const steps = ['a', 'b', 'c'].map((name) => times.get(`charge ${name}`) ?? 0)
      const more = steps.reduce((sum, n) => sum + n, 0) - 4
      // A step whose result has reached the store is never done again; one that has not, once.
      expect(more, where).toBeLessThanOrEqual(kind === 'after' ? 0 : 1)
      expect(more, where).toBeGreaterThanOrEqual(0)
      const attempts = didIn(chronicle.told).filter((what) => what.startsWith('charge attempt'))
      expect(new Set(attempts), where).toEqual(new Set([1, 2, 3].map((n) => `charge attempt ${n}`)))
      expect(attempts.toSorted(), where).toEqual(attempts)
      expect(attempts.length, where).toBeLessThanOrEqual(4)
      checkAttempts(chronicle, where)
    }
  }
})

const several: Story = {
  jobs: (tell) => {
    const quiet: Teller = { ...tell, clock: tell.clock, did: () => {} }
    const kid = setup({
      types: { output: {} as string, context: {} as { end: string } },
      actors: { work: charge(quiet, 'kid') },
    }).createMachine({
      context: { end: '' },
      initial: 'working',
      states: {
        working: {
          invoke: {
            id: 'work',
            src: 'work',
            input: 'kid',
            onDone: { target: 'end', actions: assign({ end: ({ event }) => event.output }) },
          },
        },
        end: { type: 'final' },
      },
      output: ({ context }) => context.end,
    })
    return [
      defineJob({
        type: 'several',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: { context: {} as { ends: string[] }, events: {} as DoneActorEvent<string, `work.${number}` | 'kid'> },
          actors: { work: charge(quiet, 'work'), kid },
          actions: {
            begin: enqueueActions(({ enqueue }) => {
              for (const i of [1, 2]) enqueue.spawnChild('work', { id: `work.${i}`, input: `${i}` })
              enqueue.spawnChild('kid', { id: 'kid' })
            }),
            keep: assign({ ends: ({ context, event }) => [...context.ends, event.output].toSorted() }),
          },
        }).createMachine({
          context: { ends: [] },
          entry: 'begin',
          on: { 'xstate.done.actor.*': { actions: 'keep' } },
          initial: 'at',
          states: {
            at: { always: { guard: ({ context }) => context.ends.length === 3, target: 'end' } },
            end: { type: 'final' },
          },
          output: ({ context }) => context.ends,
        }),
      }),
    ]
  },
}

test('actors of one job that use the same names of steps have each their own, also one in a child machine', async () => {
  const { output } = await prove(several)
  expect(output).toEqual(['a of 1,b,3', 'a of 2,b,3', 'a of kid,b,3'])
})
