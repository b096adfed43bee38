/** Machines with each kind of actor, killed at every write: they end as if nothing had happened. */
import { defineJob } from 'jobchart'
import { assign, fromCallback, fromObservable, fromPromise, fromTransition, sendTo, setup } from 'xstate'
import { Observable } from 'rxjs'
import { expect, test } from 'vitest'
import { begunIn, didIn, prove } from './support/prove.ts'
import { live, type Story } from './support/lives.ts'

/** When a virtual clock starts. */
const start = Date.UTC(2026, 0, 1)

const promises: Story = {
  input: { total: 7 },
  jobs: (tell) => [
    defineJob({
      type: 'promises',
      retry: { maxAttempts: 9 },
      machine: setup({
        types: { context: {} as { total: number; log: string[] }, input: {} as { total: number } },
        actions: { note: (_, { what }: { what: string }) => tell.did(`note ${what}`) },
        actors: {
          charge: fromPromise<string, number>(async ({ input, self }) => {
            tell.begun(self)
            await tell.clock.sleep('1s')
            return `charged ${input}`
          }),
          refuse: fromPromise<string>(async ({ self }) => {
            tell.begun(self)
            throw new Error('no')
          }),
        },
      }).createMachine({
        context: ({ input }) => ({ ...input, log: [] }),
        initial: 'charging',
        states: {
          charging: {
            entry: { type: 'note', params: { what: 'charging' } },
            invoke: {
              src: 'charge',
              input: ({ context }) => context.total,
              onDone: {
                target: 'refusing',
                actions: [
                  assign({ log: ({ context, event }) => [...context.log, event.output] }),
                  { type: 'note', params: ({ event }) => ({ what: event.output }) },
                ],
              },
            },
          },
          refusing: {
            invoke: {
              src: 'refuse',
              onError: {
                target: 'end',
                actions: assign({ log: ({ context, event }) => [...context.log, String(event.error)] }),
              },
            },
          },
          end: { type: 'final', entry: { type: 'note', params: { what: 'end' } } },
        },
        output: ({ context }) => context.log,
      }),
    }),
  ],
}

test('promises: what has finished is not begun again, what has not is, with its key', async () => {
  const { output, told } = await prove(promises)
  expect(output).toEqual(['charged 7', 'Error: no'])
  expect(didIn(told)).toEqual(['note charging', 'note charged 7', 'note end'])
  expect(begunIn(told)).toEqual(['0.(machine).charging/1', '0.(machine).refusing/1'])
})

test('a callback is begun again where it had not ended, and what it sends is taken as ever', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'callback',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: { context: {} as { rows: number[] }, events: {} as { type: 'ROW'; row: number } | { type: 'NOTED' } },
          actions: { note: (_, { row }: { row: number }) => tell.did(`note ${row}`) },
          actors: {
            rows: fromCallback<{ type: 'MORE' }>(({ sendBack, receive, self }) => {
              tell.begun(self)
              let row = 0
              receive(() => sendBack({ type: 'ROW', row: ++row }))
            }),
          },
        }).createMachine({
          context: { rows: [] },
          initial: 'reading',
          states: {
            reading: {
              invoke: { id: 'rows', src: 'rows' },
              // Rows come again from the first: what has them already does not take them twice.
              entry: sendTo('rows', { type: 'MORE' }),
              on: {
                ROW: [
                  {
                    guard: ({ context, event }) => context.rows.includes(event.row),
                    actions: sendTo('rows', { type: 'MORE' }),
                  },
                  {
                    actions: [
                      assign({ rows: ({ context, event }) => [...context.rows, event.row] }),
                      { type: 'note', params: ({ event }) => ({ row: event.row }) },
                      sendTo('rows', { type: 'MORE' }),
                    ],
                  },
                ],
              },
              always: { guard: ({ context }) => context.rows.length >= 3, target: 'end' },
            },
            end: { type: 'final' },
          },
          output: ({ context }) => context.rows,
        }),
      }),
    ],
  })
  expect(output).toEqual([1, 2, 3])
  expect(didIn(told)).toEqual(['note 1', 'note 2', 'note 3'])
})

test('an action of a callback that changes no state is executed at once', async () => {
  const { told } = await live({
    jobs: (tell) => [
      defineJob({
        type: 'ticks',
        retry: { maxAttempts: 9 },
        machine: setup({
          actions: { note: () => tell.did('note') },
          actors: {
            ticks: fromCallback(({ sendBack }) => {
              sendBack({ type: 'TICK' })
            }),
          },
        }).createMachine({
          initial: 'waiting',
          states: {
            waiting: {
              invoke: { src: 'ticks' },
              on: { TICK: { actions: 'note' }, STOP: 'end' },
              after: { 60_000: 'end' },
            },
            end: { type: 'final' },
          },
        }),
      }),
    ],
  })
  const [, begun] = told
  const [note, ...more] = told.filter((each) => each.kind === 'did')
  expect(more).toEqual([])
  expect(begun?.kind).toBe('kept')
  expect(note).toMatchObject({ what: 'note', at: start })
})

test('an observable begins anew, and its values are taken as snapshots', async () => {
  const { output } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'observable',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: { context: {} as { seen: number[] } },
          actors: {
            values: fromObservable(
              ({ self }) =>
                new Observable<number>((subscriber) => {
                  tell.begun(self)
                  for (const value of [1, 2]) subscriber.next(value)
                  void tell.clock.sleep('1s').then(() => {
                    subscriber.next(3)
                    subscriber.complete()
                  })
                }),
            ),
          },
        }).createMachine({
          context: { seen: [] },
          initial: 'watching',
          states: {
            watching: {
              invoke: {
                src: 'values',
                onSnapshot: {
                  guard: ({ context, event }) =>
                    event.snapshot.context !== undefined && !context.seen.includes(Number(event.snapshot.context)),
                  actions: assign({ seen: ({ context, event }) => [...context.seen, Number(event.snapshot.context)] }),
                },
                onDone: 'end',
              },
            },
            end: { type: 'final' },
          },
          output: ({ context }) => context.seen,
        }),
      }),
    ],
  })
  expect(output).toEqual([1, 2, 3])
})

test('an actor that only makes transitions is kept as it is', async () => {
  const { output, error } = await prove({
    jobs: () => [
      defineJob({
        type: 'transition',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: { context: {} as { sum: number } },
          actors: {
            sum: fromTransition((sum: number, event: { type: 'ADD'; by: number }) => sum + event.by, 0),
          },
        }).createMachine({
          context: { sum: 0 },
          initial: 'adding',
          invoke: {
            id: 'sum',
            src: 'sum',
            onSnapshot: { actions: assign({ sum: ({ event }) => event.snapshot.context }) },
          },
          on: { ADD: { actions: sendTo('sum', { type: 'ADD', by: 5 }) } },
          states: {
            adding: { entry: sendTo('sum', { type: 'ADD', by: 1 }), after: { 1_000: 'more' } },
            more: { entry: sendTo('sum', { type: 'ADD', by: 2 }), on: { GO: 'end' } },
            end: { type: 'final' },
          },
          output: ({ context }) => context.sum,
        }),
      }),
    ],
    drive: async ({ job, until }) => {
      await until('more')
      await job.send({ type: 'ADD' })
      await job.send({ type: 'GO' })
    },
  })
  expect(error).toBeUndefined()
  expect(output).toBe(8)
})
