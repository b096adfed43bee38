/** Charts as text: Mermaid, DOT and a tree for terminals. */
import { createMachine } from 'xstate'
import { describe, expect, test } from 'vitest'
import { toDot, toMermaid, toText } from 'jobchart/chart'
import { machines } from '../../machines/index.ts'

const machine = createMachine({
  id: 'order',
  initial: 'open',
  on: { CANCEL: '.closed', PING: { actions: 'pong' } },
  states: {
    open: {
      initial: 'cart',
      states: {
        cart: {
          tags: ['new'],
          on: { PAY: [{ guard: 'isPaid', target: 'paid', actions: ['note', 'tell'] }, { target: 'cart' }] },
        },
        paid: {
          entry: 'thank',
          invoke: { src: 'ship', onDone: '#order.closed' },
          after: { 5_000: '#order.open' },
          on: { NO: {} },
        },
        last: { type: 'history', target: 'cart' },
      },
    },
    packing: { type: 'parallel', states: { box: {}, mail: {} } },
    state: {},
    closed: { type: 'final' },
  },
})

describe('Mermaid', () => {
  test('a flat chart reads as a person would write it', () => {
    expect(toMermaid(machines.runtime, { direction: 'right' }).split('\n').slice(0, 4)).toEqual([
      'stateDiagram-v2',
      '  direction LR',
      '  state "runtime #183; STORE_LOST / keepStoreError #183; STORE_BACK / keepStoreError" as runtime {',
      '    idle',
    ])
    expect(toMermaid(machines.job)).toContain('\n  running --> dead: FAIL [else], EXPIRE [else]\n')
  })

  test('nesting, regions, history, ends and reserved words have their form', () => {
    const text = toMermaid(machine)
    for (const line of [
      'state "order #183; PING / pong" as order {',
      'state "open" as open {',
      '[*] --> open_cart',
      'open_cart --> open_paid: PAY [isPaid] / note, tell',
      'open_cart --> open_cart: PAY [else]',
      'open_paid: entry / thank',
      'open_paid: invoke ship',
      'open_paid: NO (forbidden)',
      'state "H" as open_last',
      'open_last --> open_cart',
      'open_paid --> closed: ship done',
      'state "open again" as open_again',
      'open_paid --> open_again: after 5 s',
      'state "any state" as order_any',
      'order_any --> closed: CANCEL',
      '--',
      'state "state" as s_state',
      'closed --> [*]',
    ]) {
      expect(text.split('\n').map((each) => each.trim())).toContain(line)
    }
  })
})

test('Mermaid gets no empty text, which it refuses: a name of blanks is one', () => {
  const blank = createMachine({ initial: ' ', states: { ' ': {}, '\n': { initial: 'a', states: { a: {} } } } })
  expect(toMermaid(blank)).not.toContain('""')
  expect(toMermaid(blank).match(/state " " as/g)).toHaveLength(2)
})

describe('DOT', () => {
  test('states with states in them are clusters, and arrows end at their borders', () => {
    const text = toDot(machine)
    expect(text).toContain('subgraph "cluster_s1" {\n      label="open"; style=rounded')
    expect(text).toContain('label="closed", peripheries=2')
    expect(text).toContain('label="H", shape=circle')
    expect(text).toContain('label="PAY [isPaid] / note, tell"')
    expect(text).toMatch(/s3 -> s1 \[label="after 5 s"\]/)
    expect(text.split('{').length).toBe(text.split('}').length)
  })
})

describe('text', () => {
  test('a tree with columns', () => {
    expect(`\n${toText(machine, { active: { open: 'paid' }, counts: { closed: 12_345 } })}`).toMatchInlineSnapshot(`
      "
      order
      │    CANCEL  → closed
      │    PING    / pong
      ├─ ▸ ● open
      │  ├─ ▸ cart #new
      │  │       PAY [isPaid]  → open.paid  / note, tell
      │  │       PAY [else]    → open.cart
      │  ├─ ● paid
      │  │       entry / thank
      │  │       invoke ship
      │  │       NO         ∅
      │  │       ship done  → closed
      │  │       after 5 s  → open
      │  └─ last (history)
      │          default → open.cart
      ├─ packing (parallel)
      │  ├─ box
      │  └─ mail
      ├─ state
      └─ closed (final) [12.3K]
      "
    `)
  })

  test('only ASCII where it is asked for', () => {
    const text = toText(machine, { ascii: true, tags: false })
    // oxlint-disable-next-line no-control-regex -- ASCII is meant
    expect(text).toMatch(/^[\u0000-\u007f]*$/)
    expect(text).not.toContain('#new')
  })
})
