/** Timers and re-entered states, killed at every write. */
import { defineJob } from 'jobchart'
import { assign, cancel, fromPromise, raise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { begunIn, didIn, prove } from './support/prove.ts'

const retry = { maxAttempts: 9 }

test('timers keep their deadlines, are cancelled with their states, and by name', async () => {
  const { told, output } = await prove(
    {
      jobs: (tell) => [
        defineJob({
          type: 'timers',
          retry,
          machine: setup({
            types: { context: {} as { seen: string[] } },
            actions: {
              at: (_, { what }: { what: string }) => tell.did(`at ${what}`),
              see: assign({ seen: ({ context, event }) => [...context.seen, event.type] }),
            },
          }).createMachine({
            context: { seen: [] },
            entry: [
              raise({ type: 'RAISED' }, { delay: 7_000 }),
              raise({ type: 'NEVER' }, { delay: 8_000, id: 'never' }),
              raise({ type: 'NEITHER' }, { delay: 60_000, id: 'neither' }),
            ],
            on: { RAISED: { actions: ['see', cancel('never'), cancel('neither')] }, NEVER: { actions: 'see' } },
            initial: 'first',
            states: {
              first: {
                after: {
                  3_000: { actions: { type: 'at', params: { what: '3 s' } } },
                  5_000: { target: 'second', actions: { type: 'at', params: { what: '5 s' } } },
                  6_000: { actions: 'see' },
                },
              },
              second: {
                tags: ['waiting'],
                after: { 10_000: { target: 'end', actions: { type: 'at', params: { what: '15 s' } } } },
              },
              end: { type: 'final' },
            },
            output: ({ context }) => context.seen,
          }),
        }),
      ],
    },
    {
      also: ({ told: each, deadMs }, without) => {
        for (const what of ['at 3 s', 'at 5 s', 'at 15 s']) {
          const at = (of: typeof told): number =>
            of.reduce(
              (found, one) => (one.kind === 'did' && one.what === what ? Math.min(found, one.at) : found),
              Infinity,
            )
          const lateMs = at(each) - at(without.told)
          expect(lateMs, `${what} is early`).toBeGreaterThanOrEqual(0)
          expect(lateMs, `${what} is late`).toBeLessThanOrEqual(deadMs)
        }
      },
    },
  )
  expect(output).toEqual(['RAISED'])
  expect(didIn(told)).toEqual(['at 3 s', 'at 5 s', 'at 15 s'])
})

test('a state that is entered again begins its actor again, under a key of its own', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'again',
        retry,
        machine: setup({
          types: { context: {} as { tries: number } },
          actors: {
            attempt: fromPromise<boolean, number>(async ({ input, self }) => {
              tell.begun(self)
              await tell.clock.sleep('1s')
              return input === 3
            }),
          },
        }).createMachine({
          context: { tries: 0 },
          initial: 'trying',
          states: {
            trying: {
              entry: assign({ tries: ({ context }) => context.tries + 1 }),
              invoke: {
                src: 'attempt',
                input: ({ context }) => context.tries,
                onDone: [
                  { guard: ({ event }) => event.output, target: 'end' },
                  { target: 'trying', reenter: true },
                ],
              },
            },
            end: { type: 'final' },
          },
          output: ({ context }) => context.tries,
        }),
      }),
    ],
  })
  expect(output).toBe(3)
  expect(begunIn(told)).toEqual([1, 2, 3].map((n) => `0.(machine).trying/${n}`))
})

test('a promise that rejects is tried again from the checkpoint, under the same key', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'rejecting',
        retry: { maxAttempts: 1_000, backoff: () => '5s' },
        machine: setup({
          actions: { note: () => tell.did('note') },
          actors: {
            work: fromPromise(async ({ self }) => {
              tell.begun(self)
              if (tell.clock.monotonic() < 12_000) throw new Error('not yet')
              return 'late'
            }),
          },
        }).createMachine({
          initial: 'trying',
          states: { trying: { entry: 'note', invoke: { src: 'work', onDone: 'end' } }, end: { type: 'final' } },
          output: 'done',
        }),
      }),
    ],
  })
  expect(output).toBe('done')
  expect(new Set(begunIn(told))).toEqual(new Set(['0.(machine).trying/1']))
  expect(didIn(told)).toEqual(['note'])
})
