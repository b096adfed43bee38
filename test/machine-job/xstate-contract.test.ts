/**
 * What the hosting of machines relies on in XState beyond its documented API. When one of these fails after an upgrade,
 * the file that it names has to be looked at before anything else.
 */
import {
  Actor,
  assign,
  cancel,
  createActor,
  createMachine,
  emit,
  fromCallback,
  fromPromise,
  fromTransition,
  log,
  raise,
  sendTo,
  setup,
  spawnChild,
  stopChild,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyActorScope,
  type AnyEventObject,
} from 'xstate'
import { expect, test } from 'vitest'
import { takeInPlace, watchMicrosteps, wrapRelays, type Microstep } from '../../src/machine-job/xstate-internals.ts'

const raised = (): never => {
  throw new Error('refused')
}

const kid = createMachine({ id: 'kid', initial: 'a', states: { a: {} } })

const chart = setup({
  types: { context: {} as { ref: AnyActorRef | null } },
  actions: { named: () => {} },
  actors: { kid, work: fromPromise(async () => 1), sum: fromTransition((sum: number) => sum, 0) },
}).createMachine({
  id: 'chart',
  context: { ref: null },
  initial: 'one',
  states: {
    one: {
      entry: [
        'named',
        log('hello'),
        emit({ type: 'out' }),
        raise({ type: 'LATER' }, { delay: 10, id: 'later' }),
        cancel('other'),
        spawnChild('kid', { id: 'spawned' }),
        sendTo('spawned', { type: 'HELLO' }),
        assign({ ref: ({ spawn }) => spawn('kid') }),
        stopChild('nobody'),
      ],
      invoke: [{ src: 'work' }, { src: fromCallback(() => {}) as never, id: 'inline' as never }],
      after: { 1_000: 'two' },
      on: { GO: 'two' },
    },
    two: {},
  },
})

interface Seen {
  readonly scopes: AnyActorScope[]
  readonly actions: { readonly type: string; readonly params: unknown; readonly exec: unknown }[]
  readonly deferred: number[]
}

/** The chart in an actor of ours, with a scope that looks on: the way of `src/machine-job/planned.ts` and `plan.ts`. */
function hosted() {
  const seen: Seen = { scopes: [], actions: [], deferred: [] }
  const scopeOf = (scope: AnyActorScope): AnyActorScope => {
    seen.scopes.push(scope)
    return {
      ...scope,
      defer: (run) => {
        seen.deferred.push(seen.actions.length)
        scope.defer(run)
      },
      actionExecutor: (action) => {
        seen.actions.push(action)
        action.exec?.(action.info, action.params)
      },
    }
  }
  const logic: AnyActorLogic = {
    config: chart.config,
    transition: (snapshot, event: AnyEventObject, scope) => chart.transition(snapshot as never, event, scopeOf(scope)),
    getInitialSnapshot: (scope, input) => chart.getInitialSnapshot(scopeOf(scope), input as never),
    restoreSnapshot: (snapshot, scope) => chart.restoreSnapshot(snapshot as never, scopeOf(scope)),
    getPersistedSnapshot: (snapshot) => chart.getPersistedSnapshot(snapshot as never),
    start: (snapshot) => chart.start(snapshot as never),
  }
  const logged: unknown[] = []
  const root = createActor(logic, { id: 'root', logger: (...args) => void logged.push(args) })
  return { root, seen, logged }
}

test('a scope has what plan.ts spreads and replaces', () => {
  const { seen } = hosted()
  expect(Object.keys(seen.scopes[0] ?? {}).toSorted()).toEqual(
    ['actionExecutor', 'defer', 'emit', 'id', 'logger', 'self', 'sessionId', 'stopChild', 'system'].toSorted(),
  )
})

test('every action goes through the executor of the scope, and its own are named as plan.ts knows them', () => {
  const { seen } = hosted()
  expect(seen.actions.filter(({ exec }) => exec !== undefined).map(({ type }) => type)).toEqual([
    'named',
    'xstate.log',
    'xstate.emit',
    'xstate.raise',
    'xstate.cancel',
    'xstate.spawnChild',
    'xstate.sendTo',
    'xstate.stopChild',
    'xstate.raise',
    'xstate.spawnChild',
    'xstate.spawnChild',
  ])
  const [named] = seen.actions
  expect(named?.exec, 'a named action is executed by what it names').toBe(
    chart.implementations.actions['named' as never],
  )
  const params = (type: string): unknown => seen.actions.find((action) => action.type === type)?.params
  expect(params('xstate.emit')).toEqual({ event: { type: 'out' } })
  expect(params('xstate.spawnChild')).toMatchObject({ id: 'spawned', src: 'kid' })
  expect(params('xstate.sendTo')).toMatchObject({ event: { type: 'HELLO' }, delay: undefined })
  expect((params('xstate.sendTo') as { to: unknown }).to, 'the target of sendTo, once it is sent').toBeInstanceOf(Actor)
})

test('its own effects are deferred through the scope when they are executed', () => {
  const { seen } = hosted()
  // emit, raise, cancel, spawnChild, sendTo, assign with spawn, after, two invokes
  expect(seen.deferred).toHaveLength(9)
})

test('a spawned child without an id has none in its params: plan.ts refuses it by that', () => {
  const seen: unknown[] = []
  const machine = setup({ actors: { kid } }).createMachine({ entry: spawnChild('kid') })
  const scope = hosted().seen.scopes[0] as AnyActorScope
  const actionExecutor: AnyActorScope['actionExecutor'] = ({ params }) => void seen.push(params)
  machine.getInitialSnapshot({ ...scope, actionExecutor } as never, undefined as never)
  expect(seen).toEqual([expect.objectContaining({ id: undefined })])
})

test('the scheduler of a system can be replaced before its root starts, and has all timers of the tree', () => {
  const { root } = hosted()
  const calls: unknown[][] = []
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args.map((arg) => (arg instanceof Actor ? arg.id : arg))])
  root.system.scheduler = { schedule: note('schedule'), cancel: note('cancel'), cancelAll: note('cancelAll') }
  root.start()
  expect(calls).toEqual([
    ['schedule', 'root', 'root', { type: 'LATER' }, 10, 'later'],
    ['cancel', 'root', 'other'],
    ['schedule', 'root', 'root', { type: 'xstate.after.1000.chart.one' }, 1_000, 'xstate.after.1000.chart.one'],
  ])
  root.send({ type: 'GO' })
  expect(calls).toContainEqual(['cancel', 'root', 'xstate.after.1000.chart.one'])
  root.stop()
  expect(calls.some(([name]) => name === 'cancelAll')).toBe(true)
})

test('ids that are given by number come from the system, and an actor can be given its key before it starts', () => {
  const { root } = hosted()
  let booked = 0
  Object.assign(root.system, { _bookId: () => `n:${++booked}` })
  const { children } = root.getSnapshot() as unknown as { children: Record<string, AnyActorRef> }
  const [child] = Object.values(children) as [AnyActorRef]
  child.sessionId = 'mine'
  root.start()
  expect(child.sessionId).toBe('mine')
  expect(createActor(kid, { parent: root } as never).id).toBe('n:1')
  expect((child as { _parent?: AnyActorRef })._parent).toBe(root)
  expect(child.src).toBe('kid')
  root.stop()
})

test('every event that an actor gets goes through the relay of its system', () => {
  const { root } = hosted()
  const relayed: unknown[] = []
  let held: (() => void)[] | null = null
  wrapRelays(root.system, (_source, target, _event, deliver) => {
    relayed.push(target.id)
    if (held === null) deliver()
    else held.push(deliver)
  })
  root.start()
  relayed.length = 0
  held = []
  root.send({ type: 'GO' })
  expect(root.getSnapshot()).toMatchObject({ value: 'one' })
  for (const deliver of held.splice(0)) deliver()
  expect(root.getSnapshot()).toMatchObject({ value: 'two' })
  expect(relayed).toEqual(['root'])
  root.stop()
})

test('a machine whose start is still to come defers what it does, and starts its children first', () => {
  const order: string[] = []
  const machine = setup({
    actions: { own: () => order.push('own') },
    actors: { kid: setup({ actions: { kid: () => order.push('kid') } }).createMachine({ entry: 'kid' }) },
  }).createMachine({ entry: 'own', invoke: { src: 'kid' } })
  const actor = createActor(machine)
  expect(order).toEqual([])
  actor.start()
  expect(order).toEqual(['kid', 'own'])
})

test('what a machine does after its steps is taken from the front of its list', () => {
  const order: string[] = []
  const note = (what: string) => () => void order.push(what)
  const machine = setup({
    actions: { first: note('first'), second: note('second'), last: note('last'), refuse: () => raised() },
    actors: { work: fromCallback(note('started')) },
  }).createMachine({
    entry: ['first', spawnChild('work'), 'second'],
    on: { GO: { actions: ['last', spawnChild('work')] }, FAIL: { actions: 'refuse' } },
  })
  const actor = createActor(machine)
  actor.subscribe({ error: (error) => void order.push((error as Error).message) })
  takeInPlace(actor)
  expect(order).toEqual([])
  actor.start()
  expect(order).toEqual(['started', 'first', 'second'])
  actor.send({ type: 'GO' })
  actor.send({ type: 'FAIL' })
  expect(order.slice(3)).toEqual(['last', 'started', 'refused'])
  expect(Reflect.get(actor, '_deferred')).toHaveLength(0)
})

test('a persisted snapshot has the shape that versions.ts reads', () => {
  const { root } = hosted()
  root.start()
  expect(root.getPersistedSnapshot()).toMatchObject({
    status: 'active',
    value: 'one',
    historyValue: {},
    context: { ref: { xstate$$type: 1 } },
    children: {
      spawned: { src: 'kid', snapshot: { status: 'active', value: 'a', children: {} } },
      '0.chart.one': { src: 'work', snapshot: { status: 'active' } },
      inline: { src: 'xstate.invoke.1.chart.one' },
    },
  })
  root.stop()
})

test('charts can be walked as machines.ts and versions.ts do', () => {
  const [one] = Object.values(chart.root.states)
  expect(one).toMatchObject({
    id: 'chart.one',
    type: 'atomic',
    invoke: [{ id: '0.chart.one', src: 'work' }, { id: 'inline' }],
  })
  expect(one?.events).toEqual(['GO', 'xstate.after.1000.chart.one'])
  expect(
    one?.entry.filter((action) => typeof action === 'function').map((action) => 'resolve' in action),
  ).not.toContain(false)
  expect(chart.root.initial).toMatchObject({ actions: [] })
  const snapshot = createActor(chart).getSnapshot()
  expect(chart.getTransitionData(snapshot, { type: 'GO' } as never)).toMatchObject([
    { eventType: 'GO', target: [{ id: 'chart.two' }] },
  ])
})

test('only logic that does work has a start of its own', () => {
  expect(fromPromise(async () => 1)).toHaveProperty('start')
  expect(fromCallback(() => {})).toHaveProperty('start')
  expect(fromTransition((sum: number) => sum, 0).start).toBeUndefined()
})

test('a chart that runs in circles is stopped by the bound of its options, also when it is set later', () => {
  const circle = createMachine({ initial: 'a', states: { a: { always: 'b' }, b: { always: 'a' } } })
  expect(circle.options.maxIterations).toBe(Infinity)
  circle.options = { ...circle.options, maxIterations: 10 }
  expect(createActor(circle).getSnapshot()).toMatchObject({ status: 'error' })
})

/** Each region has an `always` that GO enables; the context has the order in which they were taken. */
const regions = setup({
  types: { context: {} as { isOpen: boolean; taken: string[] }, events: {} as { type: 'A' | 'B' | 'GO' } },
  guards: { isOpen: ({ context }) => context.isOpen },
  actions: {
    take: assign({ taken: ({ context }, region: string) => [...context.taken, region] }),
    open: assign({ isOpen: true }),
  },
}).createMachine({
  context: { isOpen: false, taken: [] },
  type: 'parallel',
  on: { GO: { actions: 'open' } },
  states: {
    a: {
      initial: 'idle',
      states: {
        idle: { on: { A: 'ready' } },
        ready: { always: { guard: 'isOpen', target: 'end', actions: { type: 'take', params: 'a' } } },
        end: {},
      },
    },
    b: {
      initial: 'idle',
      states: {
        idle: { on: { B: 'ready' } },
        ready: { always: { guard: 'isOpen', target: 'end', actions: { type: 'take', params: 'b' } } },
        end: {},
      },
    },
  },
})

test('eventless transitions of regions are tried in the order of entry, and after a restore in that of the chart', () => {
  // docs/crash.md says so of jobs, which are restored after each wait.
  const taken = (actor: Actor<typeof regions>): readonly string[] => {
    actor.send({ type: 'GO' })
    return actor.getSnapshot().context.taken
  }
  const live = createActor(regions).start()
  for (const type of ['B', 'A'] as const) live.send({ type })
  const restored = createActor(regions, { snapshot: live.getPersistedSnapshot() }).start()
  expect(taken(live)).toEqual(['b', 'a'])
  expect(taken(restored)).toEqual(['a', 'b'])
})

test('each step of a machine is told with the transitions of its chart, and the nodes that are active then', () => {
  const machine = createMachine({
    id: 'steps',
    initial: 'a',
    states: { a: { on: { GO: 'b' } }, b: { always: 'c' }, c: { on: { 'TO.*': 'a' } } },
  })
  const actor = createActor(machine)
  const steps: Microstep[] = []
  watchMicrosteps(actor.system, actor, (step) => steps.push(step))
  actor.start()
  actor.send({ type: 'GO' })
  actor.send({ type: 'NOTHING' })
  actor.send({ type: 'TO.A' })
  const told = steps.map(({ transitions, nodes }) => [transitions, nodes.map(({ id }) => id)])
  const { a, b, c } = machine.root.states as Record<string, (typeof machine)['root']>
  const [go, always, to] = [a?.transitions.get('GO')?.[0], b?.always?.[0], c?.transitions.get('TO.*')?.[0]]
  expect(told).toEqual([
    [[go], ['steps', 'steps.b']],
    [[always], ['steps', 'steps.c']],
    [[], ['steps', 'steps.c']],
    [[to], ['steps', 'steps.a']],
  ])
  // heat-recorder.ts keeps what it knows of a transition by the object in the chart.
  for (const [i, each] of [go, always, undefined, to].entries()) expect(steps[i]?.transitions[0]).toBe(each)
  expect([go?.eventType, always?.eventType, to?.eventType]).toEqual(['GO', '', 'TO.*'])
})
