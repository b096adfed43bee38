/** What is known of a machine job by its types: all of it comes from the machine. */
import {
  createClient,
  defineJob,
  durable,
  memoryStore,
  type DurableScope,
  type JobHandle,
  type Migrate,
  type PersistedSnapshotFrom,
  typed,
} from 'jobchart'
import { assign, fromPromise, setup, type InputFrom, type OutputFrom, type PromiseActorLogic } from 'xstate'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const runtime = createClient({ store: memoryStore() })

const machine = setup({
  types: {
    input: {} as { readonly pounds: number },
    context: {} as { readonly pounds: number },
    events: {} as { type: 'APPROVE' } | { type: 'REJECT'; why: string },
    output: {} as { readonly receipt: string },
  },
}).createMachine({
  context: ({ input }) => input,
  initial: 'open',
  states: { open: { on: { APPROVE: 'paid', REJECT: 'paid' } }, paid: { type: 'final' } },
  output: ({ context }) => ({ receipt: `${context.pounds}` }),
})

const order = defineJob({ type: 'order', machine })
type Order = NonNullable<(typeof order)['~types']>

test('input, output and events of a job are those of its machine', () => {
  expectTypeOf<Order['input']>().toEqualTypeOf<{ readonly pounds: number }>()
  expectTypeOf<Order['output']>().toEqualTypeOf<{ readonly receipt: string }>()
  expectTypeOf<Order['machine']['event']>().toEqualTypeOf<{ type: 'APPROVE' } | { type: 'REJECT'; why: string }>()
})

test('a job is enqueued also if the type of its machine is any', () => {
  const ofAnyType: ReturnType<typeof JSON.parse> = machine
  const untyped = defineJob({ type: 'untyped', machine: ofAnyType })
  expectTypeOf(() => runtime.enqueue(untyped, { pounds: 7 })).returns.resolves.toExtend<JobHandle>()
})

test('a handle takes the events of the machine, and no others', () => {
  type Handle = JobHandle<Order['output'], Order['machine']>
  expectTypeOf<Parameters<Handle['send']>[0]>().toEqualTypeOf<Order['machine']['event']>()
  expectTypeOf<Parameters<Handle['can']>[0]>().toEqualTypeOf<Order['machine']['event']>()
  expectTypeOf<Awaited<ReturnType<Handle['result']>>>().toEqualTypeOf<{ readonly receipt: string }>()
})

const loanMachine = setup({
  types: {
    context: {} as { readonly pounds: number },
    events: {} as { type: 'APPROVE'; by: string } | { type: 'PAY'; at: number } | { type: 'CLOSE' },
    tags: {} as 'open' | 'closed',
  },
}).createMachine({
  context: { pounds: 1 },
  initial: 'review',
  states: {
    review: { tags: 'open', on: { APPROVE: 'paying' } },
    paying: { initial: 'sum', states: { sum: {}, interest: {} }, on: { CLOSE: 'end' } },
    end: { type: 'final' },
  },
})
const loan = defineJob({
  type: 'loan',
  machine: loanMachine,
  events: {
    APPROVE: z.object({ by: z.string() }),
    PAY: z.object({ at: z.number() }),
  },
})

test('a view has the value, context and tags of the machine', () => {
  const look = async () => (await runtime.job(loan, 'a'))?.snapshot()
  type View = NonNullable<Awaited<ReturnType<typeof look>>>
  expectTypeOf<View['value']>().toEqualTypeOf<'review' | 'end' | { paying: 'sum' | 'interest' }>()
  expectTypeOf<View['context']>().toEqualTypeOf<{ readonly pounds: number }>()
  expectTypeOf<View['tags']>().toEqualTypeOf<readonly ('open' | 'closed')[]>()
  // Never called: only its types are looked at.
  const asks = (view: View) => {
    void [view.matches('review'), view.matches('paying.sum'), view.hasTag('open'), view.can({ type: 'CLOSE' })]
    // @ts-expect-error -- no such state
    view.matches('reveiw')
    // @ts-expect-error -- no such state within it
    view.matches('paying.all')
    // @ts-expect-error -- no such tag
    view.hasTag('review')
    // @ts-expect-error -- an event without what it needs
    view.can({ type: 'APPROVE' })
  }
  expectTypeOf(asks).toBeFunction()
})

test('a state or tag that a machine does not have is not waited for', () => {
  const waits = async () => {
    const job = await runtime.enqueue(loan, undefined)
    await job.waitFor('paying')
    await job.waitFor('paying.interest')
    await job.waitFor('closed')
    await job.waitFor((view) => view.context.pounds > 1)
    // @ts-expect-error -- a typing error
    await job.waitFor('payed')
    // @ts-expect-error -- not in the context
    await job.waitFor((view) => view.context.euros > 1)
    const unknown = await runtime.job('a')
    await unknown?.waitFor('anything')
  }
  expectTypeOf(waits).toBeFunction()
})

test('an event that is sent with a definition is one of its machine', () => {
  const sends = async () => {
    await runtime.send(loan, 'a', { type: 'APPROVE', by: 'ada' })
    await runtime.send(loan, 'a', { type: 'CLOSE' }, { accept: 'always' })
    // TypeScript 5.9 reports at the call, 7 at the event. What both say is in test/built/types.test.ts.
    // @ts-expect-error -- an event without what it needs
    await runtime.send(loan, 'a', { type: 'APPROVE' })
    // @ts-expect-error -- no event of the machine
    await runtime.send(loan, 'a', { type: 'REJECT' })
  }
  expectTypeOf(sends).toBeFunction()
})

test('an event that is sent by the id alone may have any data, and must have a type', () => {
  interface Own {
    readonly type: 'OWN'
    readonly n: number
  }
  const sends = async (own: Own) => {
    await runtime.send('a', { type: 'ANY' })
    await runtime.send('a', { type: 'ANY', amount: 5, lines: [{ sku: 'tea' }] }, { accept: 'later', keep: '1d' })
    await runtime.send('a', own)
    // @ts-expect-error -- no type
    await runtime.send('a', { amount: 5 })
  }
  expectTypeOf(sends).toBeFunction()
})

test('a schema of an event takes the data of the event', () => {
  // @ts-expect-error -- other data than the event has
  void (() => defineJob({ type: 'loan', machine: loanMachine, events: { APPROVE: z.object({ by: z.number() }) } }))
  // @ts-expect-error -- no event of the machine
  void (() => defineJob({ type: 'loan', machine: loanMachine, events: { REJECT: z.object({}) } }))
})

test('migrate is typed by both versions', () => {
  const next = setup({ types: { context: {} as { readonly pence: number } } }).createMachine({
    context: { pence: 0 },
    initial: 'review',
    states: { review: {}, paid: { type: 'final' } },
  })
  const base = { type: 'order', machine: next, version: '2' } as const
  const migrate: Migrate<typeof machine, typeof next> = ({ value, context, ...old }, from, { timers }) => {
    expectTypeOf(value).toEqualTypeOf<'open' | 'paid'>()
    expectTypeOf(context).toEqualTypeOf<{ readonly pounds: number }>()
    expectTypeOf(from.version).toBeString()
    const snapshot = {
      ...old,
      value: value === 'open' ? 'review' : value,
      context: { pence: 100 * context.pounds },
    } as const
    return timers.length === 0 ? snapshot : { snapshot, timers }
  }
  defineJob({ ...base, migrate })
  // Without types of its own nothing is known of what it gets, and anything may be returned.
  defineJob({ ...base, migrate: (old) => (expectTypeOf(old).toBeUnknown(), old) })
  const untyped: Migrate = (old) => old
  defineJob({ ...base, migrate: untyped })
  type Old = PersistedSnapshotFrom<typeof machine>
  // @ts-expect-error -- the context of the version before
  defineJob({ ...base, migrate: (old: Old) => ({ ...old, value: 'review' as const }) })
  // @ts-expect-error -- a state that this version does not have
  const gone: Migrate<typeof machine, typeof next> = (old) => ({ ...old, value: 'open', context: { pence: 1 } })
  // @ts-expect-error -- of another machine than that of the job
  defineJob({ ...base, machine, migrate })
  const input = typed<{ readonly pounds: number }>()
  defineJob({ ...base, input, migrate })
  // @ts-expect-error -- nor with a schema
  defineJob({ ...base, input, machine, migrate })
  expectTypeOf(gone).toBeFunction()
})

test('a job is either a handler or a machine', () => {
  // @ts-expect-error -- not both
  const both = () => defineJob({ type: 'both', machine, run: async () => {} })
  expectTypeOf(both).toBeFunction()
})

test('a durable promise infers its input and output, and stands where one of fromPromise would', () => {
  const charge = durable(async ({ input, step }: DurableScope<{ readonly pounds: number }>) =>
    step('charge', () => `charged ${input.pounds}`),
  )
  expectTypeOf(charge).toEqualTypeOf<PromiseActorLogic<string, { readonly pounds: number }>>()
  expectTypeOf<InputFrom<typeof charge>>().toEqualTypeOf<{ readonly pounds: number }>()
  expectTypeOf<OutputFrom<typeof charge>>().toEqualTypeOf<string>()
  expectTypeOf(durable<string, number>(async ({ input }) => input.toFixed())).toEqualTypeOf(
    fromPromise<string, number>(async ({ input }) => input.toFixed()),
  )
  const paying = setup({
    types: { context: {} as { end: string } },
    actors: { charge, mail: fromPromise<number, string>(async () => 1) },
  }).createMachine({
    context: { end: '' },
    initial: 'at',
    states: {
      at: {
        invoke: {
          src: 'charge',
          input: { pounds: 1 },
          onDone: { actions: assign({ end: ({ event }) => event.output }) },
        },
      },
    },
  })
  paying.provide({
    actors: {
      charge: fromPromise(async ({ input }) => `${input.pounds}`),
      mail: durable(async ({ input }) => input.length),
    },
  })
  // @ts-expect-error -- its output is a string
  paying.provide({ actors: { charge: durable(async () => 1) } })
})
