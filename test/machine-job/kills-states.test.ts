/** What charts are made of, killed at every write: regions, history, transitions without events, tags. */
import { defineJob } from 'jobchart'
import { and, assign, emit, enqueueActions, fromPromise, log, not, raise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { begunIn, didIn, emittedIn, prove } from './support/prove.ts'

const retry = { maxAttempts: 9 }

test('parallel regions work side by side and are joined', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'regions',
        retry,
        machine: setup({
          types: { context: {} as { got: Record<string, number> } },
          actions: {
            joined: () => tell.did('joined'),
            take: assign({
              got: ({ context }, { got }: { got: number }) => ({ ...context.got, [got]: got }),
            }),
          },
          actors: {
            work: fromPromise<number, number>(async ({ input, self }) => {
              tell.begun(self)
              await tell.clock.sleep(input)
              return input
            }),
          },
        }).createMachine({
          context: { got: {} },
          initial: 'both',
          states: {
            both: {
              type: 'parallel',
              onDone: { target: 'end', actions: 'joined' },
              states: Object.fromEntries(
                [1_000, 3_000].map((ms) => [
                  `for${ms}`,
                  {
                    initial: 'working',
                    states: {
                      working: {
                        invoke: {
                          src: 'work' as const,
                          input: ms,
                          onDone: {
                            target: 'ready',
                            actions: { type: 'take' as const, params: { got: ms } },
                          },
                        },
                      },
                      ready: { type: 'final' as const },
                    },
                  },
                ]),
              ),
            },
            end: { type: 'final' },
          },
          output: ({ context }) => context.got,
        }),
      }),
    ],
  })
  expect(output).toEqual({ 1000: 1_000, 3000: 3_000 })
  expect(begunIn(told)).toHaveLength(2)
})

test('history, shallow and deep, is found again', async () => {
  const { output } = await prove({
    jobs: () => [
      defineJob({
        type: 'history',
        retry,
        machine: setup({ types: { context: {} as { way: string[] } } }).createMachine({
          context: { way: [] },
          initial: 'one',
          on: { DEEP: '.one.deep', SHALLOW: '.one.shallow', END: '.end' },
          states: {
            one: {
              initial: 'a',
              states: {
                a: { on: { NEXT: 'b' } },
                b: {
                  initial: 'x',
                  states: {
                    x: { entry: assign({ way: ({ context }) => [...context.way, 'x'] }), on: { NEXT: 'y' } },
                    y: { tags: ['y'], entry: assign({ way: ({ context }) => [...context.way, 'y'] }) },
                  },
                },
                deep: { type: 'history', history: 'deep' },
                shallow: { type: 'history' },
              },
              on: { AWAY: 'away' },
            },
            away: {},
            end: { type: 'final' },
          },
          output: ({ context }) => context.way,
        }),
      }),
    ],
    drive: async ({ job, until }) => {
      for (const type of ['NEXT', 'NEXT', 'AWAY']) await job.send({ type })
      await until('away')
      await job.send({ type: 'DEEP' })
      await until('y')
      for (const type of ['AWAY', 'SHALLOW', 'END']) await job.send({ type })
    },
  })
  expect(output).toEqual(['x', 'y', 'y', 'x'])
})

test('transitions without events, raised events, queued actions and logs are part of one step', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'steps',
        retry,
        machine: setup({
          types: { context: {} as { n: number; failure: unknown }, emitted: {} as { type: 'at'; n: number } },
          actions: {
            note: (_, { what }: { what: string }) => tell.did(`note ${what}`),
            count: assign({ n: ({ context }) => context.n + 1 }),
          },
          guards: { odd: ({ context }) => context.n % 2 === 1, small: ({ context }) => context.n < 5 },
        }).createMachine({
          context: {
            n: 0,
            failure: Object.assign(new RangeError('out', { cause: new Error('why') }), { code: 'E_OUT' }),
          },
          initial: 'counting',
          states: {
            counting: {
              entry: ['count', log('counting'), emit(({ context }) => ({ type: 'at', n: context.n }))],
              always: [
                { guard: and(['odd', 'small']), target: 'odd' },
                {
                  guard: and([not('odd'), 'small']),
                  target: 'counting',
                  reenter: true,
                  actions: { type: 'note', params: { what: 'even' } },
                },
                { target: 'last' },
              ],
            },
            odd: { entry: raise({ type: 'BACK' }), on: { BACK: 'counting' } },
            last: {
              entry: enqueueActions(({ enqueue, check, context }) => {
                if (check('odd')) enqueue({ type: 'note', params: { what: `odd ${context.n}` } })
                enqueue.assign({ n: 10 })
                enqueue.raise({ type: 'LATER' }, { delay: 1_000 })
              }),
              on: { LATER: 'end' },
            },
            end: { type: 'final' },
          },
          output: ({ context: { n, failure } }) => {
            const { name, message, cause, code } = failure as Error & { code: string }
            return { n, name, message, code, isError: failure instanceof Error, cause: (cause as Error).message }
          },
        }),
      }),
    ],
  })
  expect(output).toEqual({ n: 10, name: 'RangeError', message: 'out', code: 'E_OUT', isError: true, cause: 'why' })
  expect(didIn(told)).toEqual(['note even', 'note even', 'note odd 5'])
  expect(emittedIn(told)).toEqual([1, 2, 3, 4, 5].map((n) => JSON.stringify({ type: 'at', n })))
})
