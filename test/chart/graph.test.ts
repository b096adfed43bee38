/** What is read of a machine: every feature of XState that a picture shows. */
import { and, assign, createMachine, emit, not, or, raise, sendTo, setup, stateIn } from 'xstate'
import { describe, expect, test } from 'vitest'
import { layout, toGraph, toSvg, toText, type ChartState, type ChartTransition } from 'jobchart/chart'
import { machines } from '../../machines/index.ts'

type Config = Parameters<typeof createMachine>[0]

const transitionsOf = (config: Config, source: string): ChartTransition[] =>
  toGraph(createMachine(config)).transitions.filter((each) => each.source === source)

const stateOf = (config: Config, id: string): ChartState =>
  toGraph(createMachine(config)).states.find((each) => each.id === id)!

const words = (transition: ChartTransition): string => `${transition.label} > ${transition.targets.join()}`

describe('transitions', () => {
  test('events, wildcards, forbidden events and always keep their order and their kind', () => {
    const states = { a: { on: { GO: 'b', 'x.*': 'b', '*': { actions: 'log' }, NO: {} }, always: 'b' }, b: {} }
    const found = transitionsOf({ id: 'm', initial: 'a', states }, 'm.a')
    expect(found.map(({ kind, label, targetless, forbidden }) => [kind, label, targetless, forbidden])).toEqual([
      ['always', '', false, false],
      ['event', 'GO', false, false],
      ['wildcard', 'x.*', false, false],
      ['wildcard', 'any event', true, false],
      ['event', 'NO', true, true],
    ])
  })

  test('delays are told in words, by number and by name, and add no entry or exit action', () => {
    const config = { id: 'm', initial: 'a', states: { a: { after: { 250: 'b', 90_000: 'b', patience: 'b' } }, b: {} } }
    const found = transitionsOf(config, 'm.a')
    expect(found.map(({ delay }) => delay)).toEqual(['250 ms', '1 min 30 s', 'patience'])
    expect(found.map(({ label }) => label)).toEqual(['after 250 ms', 'after 1 min 30 s', 'after patience'])
    expect(stateOf(config, 'm.a')).toMatchObject({ entry: [], exit: [] })
  })

  test.each([
    ['0', '0 ms'],
    ['999', '999 ms'],
    ['1000', '1 s'],
    ['1500', '1.5 s'],
    ['60000', '1 min'],
    ['3600000', '1 h'],
    ['93600000', '1 d 2 h'],
    ['-1', '-1'],
  ])('a delay of %s ms is %s', (delay, expected) => {
    const config = { id: 'm', initial: 'a', states: { a: { after: { [delay]: 'b' } }, b: {} } }
    expect(transitionsOf(config, 'm.a')[0]!.delay).toBe(expected)
  })

  test('the ends of actors and of states are named after them', () => {
    const a = {
      invoke: [
        { id: 'pay', src: 'x', onDone: 'b', onError: 'b', onSnapshot: {} },
        { src: 'load', onDone: 'b' },
      ],
    }
    const config = { id: 'm', initial: 'a', states: { a, b: { initial: 'c', states: { c: {} }, onDone: 'a' } } }
    expect(transitionsOf(config as Config, 'm.a').map(({ label }) => label)).toEqual([
      'pay done',
      'pay failed',
      'pay changed',
      'load done',
    ])
    expect(transitionsOf(config as Config, 'm.b').map(words)).toEqual(['done > m.a'])
  })

  test('self-transitions, re-entry and several targets are told apart', () => {
    const config: Config = {
      id: 'm',
      type: 'parallel',
      on: { BOTH: { target: ['.x.b', '.y.b'] } },
      states: {
        x: { initial: 'a', states: { a: { on: { SELF: { target: 'a', reenter: true } } }, b: {} } },
        y: { initial: 'a', states: { a: {}, b: {} } },
      },
    }
    expect(transitionsOf(config, 'm')[0]).toMatchObject({ targets: ['m.x.b', 'm.y.b'], self: false })
    expect(transitionsOf(config, 'm.x.a')[0]).toMatchObject({ self: true, reenter: true, targetless: false })
  })

  test('guards are told in words, with what they are made of', () => {
    const guards = [
      'isPaid',
      { type: 'isOver', params: { pounds: 10 } },
      and(['a', not('b')]),
      or(['a', and(['b', 'c'])]),
      stateIn({ x: 'y' }),
      () => true,
    ]
    const on = { GO: guards.map((guard) => ({ guard, target: 'b' })) }
    const found = transitionsOf({ id: 'm', initial: 'a', states: { a: { on }, b: {} } } as Config, 'm.a')
    expect(found.map(({ guard }) => guard)).toEqual([
      'isPaid',
      'isOver(pounds: 10)',
      'a and (not b)',
      'a or (b and c)',
      'in x.y',
      'inline',
    ])
    expect(found.map(({ otherwise }) => otherwise)).toEqual([false, true, true, true, true, true])
  })

  test('actions are told in words, XState’s own by what they do', () => {
    const machine = setup({ actions: { greet: () => {} } }).createMachine({
      entry: [
        'greet',
        { type: 'greet' },
        assign({ a: 1, b: 2 }),
        assign(() => ({})),
        raise({ type: 'NEXT' }),
        sendTo('bank', { type: 'PAY' }),
        emit({ type: 'TOLD' }),
        function named() {},
        () => {},
      ],
    })
    expect(toGraph(machine).states[0]!.entry).toEqual([
      'greet',
      'greet',
      'assign a, b',
      'assign',
      'raise NEXT',
      'send PAY to bank',
      'emit TOLD',
      'named',
      'inline',
    ])
  })
})

describe('states', () => {
  test('type, path, tags, description, actions and actors are kept', () => {
    const b = { tags: ['t'], description: 'd', entry: 'in', exit: ['out', 'off'], invoke: { src: 'load' } }
    const config: Config = { id: 'm', initial: 'a', states: { a: { initial: 'b', states: { b } } } }
    expect(stateOf(config, 'm.a.b')).toEqual({
      id: 'm.a.b',
      key: 'b',
      path: ['a', 'b'],
      parent: 'm.a',
      children: [],
      type: 'atomic',
      history: null,
      initial: null,
      description: 'd',
      tags: ['t'],
      entry: ['in'],
      exit: ['out', 'off'],
      invokes: [{ id: '0.m.a.b', source: 'load' }],
      hidden: 0,
    })
    expect(stateOf(config, 'm.a')).toMatchObject({
      type: 'compound',
      children: ['m.a.b'],
      initial: { targets: ['m.a.b'] },
    })
  })

  test('final, parallel and history states are told apart, with the default of a history', () => {
    const states = {
      p: { type: 'parallel' as const, states: { r: {} } },
      h: { type: 'history' as const, history: 'deep' as const, target: 'f' },
      s: { type: 'history' as const },
      f: { type: 'final' as const },
    }
    const config: Config = { id: 'm', initial: 'p', states }
    expect(stateOf(config, 'm.p').type).toBe('parallel')
    expect(stateOf(config, 'm.f').type).toBe('final')
    expect(stateOf(config, 'm.h')).toMatchObject({ history: 'deep', initial: { targets: ['m.f'] } })
    expect(stateOf(config, 'm.s')).toMatchObject({ history: 'shallow', initial: null })
  })
})

describe('sources', () => {
  const config: Config = { id: 'm', initial: 'a', states: { a: { on: { GO: 'b' } }, b: { type: 'final' } } }
  const machine = createMachine(config)

  test('a machine, its root, its config and its graph as JSON give the same graph', () => {
    const graph = toGraph(machine)
    expect(toGraph(machine.root)).toEqual(graph)
    expect(toGraph(config)).toEqual(graph)
    expect(toGraph(JSON.parse(JSON.stringify(graph)) as typeof graph)).toEqual(graph)
  })

  test('reading a machine leaves it as it was', () => {
    const timed = createMachine({ initial: 'a', states: { a: { after: { 5: 'b' } }, b: {} } })
    const { entry, exit } = timed.root.states['a']!
    const before = [entry.length, exit.length]
    toGraph(timed)
    expect([entry.length, exit.length]).toEqual(before)
  })

  test('the chart of a job has every state and arrow of the machine', () => {
    const graph = toGraph(machines.job)
    expect(graph.states).toHaveLength(10)
    expect(graph.transitions).toHaveLength(25)
  })

  test('what is no machine is refused, with the reason', () => {
    for (const wrong of [null, 5, 'order']) {
      expect(() => toGraph(wrong as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    }
    const broken = { initial: 'a', states: { a: { on: { GO: 'nowhere' } } } }
    expect(() => toGraph(broken)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', cause: expect.any(Error) as Error }),
    )
  })
})

describe('large charts', () => {
  const leaf = (): object => ({
    initial: 'x',
    states: { x: { on: { GO: 'y', OUT: '#big.end' } }, y: { on: { OUT: '#big.end' } } },
  })
  const parts = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`part${index}`, leaf()]))
  const big = createMachine({ id: 'big', initial: 'part0', states: { ...parts, end: {} } } as Config)

  test('a chart above the limit is refused by every format, with the depth that would do', async () => {
    const refusal = expect.objectContaining({
      code: 'CHART_TOO_LARGE',
      message: 'chart big has 362 states to draw, 300 at most',
      hint: 'Pass `depth: 1`: it draws 122 of them. Or raise `statesMax`.',
    }) as Error
    await expect(toSvg(big)).rejects.toThrow(refusal)
    await expect(layout(big)).rejects.toThrow(refusal)
    expect(() => toText(big)).toThrow(refusal)
  })

  test('so is one with too many transitions', () => {
    const on = Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`E${index}`, 'a']))
    expect(() => toText({ id: 'busy', initial: 'a', states: { a: { on } } }, { statesMax: 3 })).toThrow(
      expect.objectContaining({
        code: 'CHART_TOO_LARGE',
        message: 'chart busy has 31 transitions to draw, 30 at most',
      }),
    )
  })

  test('below a depth, states stand for those in them, and keep what leads out of them', () => {
    const text = toText(big, { depth: 1 })
    expect(text).toContain('part7\n│       … 2 states\n│       OUT  → end\n├─ part8\n')
    expect(text).not.toContain('GO')
  })

  test('options out of range are refused', () => {
    for (const options of [{ depth: 0 }, { depth: 1.5 }, { statesMax: 0 }]) {
      expect(() => toText(big, options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    }
  })
})
