/** The rows, the shapes and the picture of a waterfall, without a browser. */
import { expect, test } from 'vitest'
import type { JobState } from 'jobchart'
import { laneAfter, type Lane } from '../../src/dashboard/waterfall/lanes.ts'
import { eventfulSpan, rowsOf, spanOf, statesOf, type FamilyMember } from '../../src/dashboard/waterfall/rows.ts'
import { panned, shapesOf, ticksOf, zoomed } from '../../src/dashboard/waterfall/shapes.ts'
import { waterfallSvg } from '../../src/dashboard/waterfall/svg.ts'
import { textWidth } from '../../src/chart/text-width.ts'
import { parseXml } from '../chart/support/xml.ts'

const lane = (id: string, stays: readonly (readonly [JobState, number])[], fields: Partial<Lane> = {}): Lane => ({
  id,
  type: 'mail',
  state: stays.at(-1)?.[0] ?? 'queued',
  parent: 'root',
  isMachine: false,
  stays: stays.map(([state, at]) => ({ state, at, attempt: 1 })),
  isCut: false,
  errors: [],
  ...fields,
})

const member = (of: Lane, children: readonly string[] = [], fields: Partial<FamilyMember> = {}): FamilyMember => ({
  lane: of,
  children,
  hasMore: false,
  states: [],
  ...fields,
})

const root = lane(
  'root',
  [
    ['queued', 1_000],
    ['running', 1_100],
    ['waiting', 1_200],
  ],
  { parent: null, isMachine: true, type: 'order' },
)

function family(children: readonly Lane[], fields: Partial<FamilyMember> = {}) {
  const ids = children.map(({ id }) => id)
  return new Map([
    ['root', member(root, ids, fields)],
    ...children.map((each) => [each.id, member(each, [], { hasMore: each.isMachine })] as const),
  ])
}

const keys = (rows: ReturnType<typeof rowsOf>): string[] => rows.map(({ key }) => key)
const none = new Map<string, boolean>()

const done = (id: string): Lane =>
  lane(id, [
    ['queued', 1_200],
    ['running', 1_300],
    ['done', 1_400],
  ])
const dead = (id: string): Lane =>
  lane(id, [
    ['queued', 1_200],
    ['running', 1_300],
    ['dead', 1_500],
  ])
const many = (count: number, make: (id: string) => Lane, name: string): Lane[] =>
  Array.from({ length: count }, (_, i) => make(`${name}-${i}`))

test('a family is a tree of rows, with the states of its machine, that opens and closes', () => {
  const members = family([done('a'), lane('b', [['queued', 1_200]], { isMachine: true })], {
    states: [{ at: 1_100, states: 'paid', seq: 1 }],
  })
  expect(rowsOf(members, 'root', none)).toMatchObject([
    { kind: 'job', key: 'root', depth: 0, isOpen: true },
    { kind: 'states', key: 'root states', depth: 1 },
    { kind: 'job', key: 'a', depth: 1, isOpen: null },
    { kind: 'job', key: 'b', depth: 1, isOpen: false },
  ])
  expect(keys(rowsOf(members, 'root', new Map([['root', false]])))).toEqual(['root'])
  expect(rowsOf(members, 'nothing', none)).toEqual([])
})

test('many brothers in one state are one row; of those in trouble the first ones are shown beside it', () => {
  const members = family([
    ...many(10_000, done, 'done'),
    ...many(20, dead, 'dead'),
    ...many(3, done, 'few').map((each) => ({ ...each, type: 'other' })),
  ])
  const rows = rowsOf(members, 'root', none)
  expect(rows.map((row) => (row.kind === 'fold' ? `${row.lanes.length} ${row.state}` : row.key))).toEqual([
    'root',
    '10000 done',
    ...many(8, dead, 'dead').map(({ id }) => id),
    '12 dead',
    'few-0',
    'few-1',
    'few-2',
  ])
  const fold = rows.find(({ kind }) => kind === 'fold')?.key ?? ''
  expect(rowsOf(members, 'root', new Map([[fold, true]])).length).toBe(rows.length + 10_000)
  expect(statesOf(many(3, done, 'a').concat(dead('b')))).toEqual([
    ['done', 3],
    ['dead', 1],
  ])
})

test('what waits for days does not hide what has happened', () => {
  const members = family([done('a')])
  const whole = spanOf(members, 'root', 1_000_000)
  expect(whole).toEqual({ from: 1_000, to: 1_000_000 })
  expect(eventfulSpan(members, whole)).toEqual({ from: 1_000, to: 1_480 })
  const working = family([
    lane('a', [
      ['queued', 1_200],
      ['running', 1_300],
    ]),
  ])
  expect(eventfulSpan(working, whole)).toEqual(whole)
})

test('what happened at once does not make a time that is shorter than it looks', () => {
  const members = family([
    lane('a', [
      ['queued', 1_000],
      ['waiting', 1_001],
    ]),
  ])
  const at = { ...members.get('root')!, lane: lane('root', [['waiting', 1_000]]) }
  const whole = { from: 1_000, to: 1_000_000 }
  expect(eventfulSpan(new Map([...members, ['root', at]]), whole)).toEqual(whole)
})

test('stays are bars to scale, failed attempts and the end are marks', () => {
  const failing = lane(
    'a',
    [
      ['queued', 1_000],
      ['running', 1_250],
      ['retrying', 1_500],
      ['queued', 1_700],
      ['running', 1_750],
      ['dead', 2_000],
    ],
    {
      errors: [{ at: 1_500, attempt: 1, text: 'Error: boom' }],
    },
  )
  const [row] = rowsOf(new Map([['a', member(failing)]]), 'a', none)
  const shapes = shapesOf(row!, { from: 1_000, to: 2_000 }, 1_000, 5_000)
  expect(
    shapes.map((shape) =>
      shape.kind === 'bar' ? [shape.tone, shape.x, shape.width, shape.title] : [shape.kind, shape.x, shape.title],
    ),
  ).toEqual([
    ['queued', 0, 250, 'queued 250 ms'],
    ['running', 250, 250, 'running attempt 1, 250 ms'],
    ['retrying', 500, 200, 'retrying 200 ms'],
    ['queued', 700, 50, 'queued 50 ms'],
    ['running', 750, 250, 'running attempt 1, 250 ms'],
    ['error', 500, 'attempt 1: Error: boom'],
    ['end', 1_000, 'dead after 1 s'],
  ])
  expect(shapesOf(row!, { from: 5_000, to: 6_000 }, 1_000, 6_000)).toEqual([])
})

test('a job that goes on reaches the present, and says what is not kept of it', () => {
  const [row] = rowsOf(new Map([['a', member(lane('a', [['running', 1_000]], { isCut: true }))]]), 'a', none)
  expect(shapesOf(row!, { from: 1_000, to: 3_000 }, 100, 2_000)).toMatchObject([
    { tone: 'running', x: 0, width: 50, title: 'running attempt 1, 1 s, what was before is not kept' },
  ])
})

test('a fold is drawn as how many of its jobs were there at once', () => {
  const rows = rowsOf(
    family([
      ...many(30, done, 'a'),
      lane('late', [
        ['queued', 1_900],
        ['done', 1_999],
      ]),
    ]),
    'root',
    none,
  )
  const fold = rows.find(({ kind }) => kind === 'fold')!
  const shapes = shapesOf(fold, { from: 1_000, to: 2_000 }, 400, 2_000)
  const titles = shapes.map((shape) => shape.title)
  expect(new Set(titles)).toEqual(new Set(['30 at once', '1 at once']))
  expect(Math.min(...shapes.map(({ x }) => x))).toBe(80)
})

test('the axis has round times from the beginning of the family', () => {
  expect(ticksOf({ from: 1_000, to: 11_000 }, 600, 1_000).map(({ text }) => text)).toEqual([
    '0',
    '+2 s',
    '+4 s',
    '+6 s',
    '+8 s',
    '+10 s',
  ])
  expect(ticksOf({ from: 0, to: 90 * 86_400_000 }, 600, 0).length).toBeLessThan(9)
})

test('no text of the axis is cut at its end, and none lies on another', () => {
  for (let to = 1_000; to < 10_000_000; to = Math.ceil(to * 1.013)) {
    let end = -Infinity
    for (const { text, textX } of ticksOf({ from: 0, to }, 340, 0)) {
      if (text === '') continue
      expect(textX, text).toBeGreaterThan(end)
      end = textX + textWidth(text, 11)
      expect(end, `${text} of ${to}`).toBeLessThanOrEqual(340)
    }
    expect(end).toBeGreaterThan(0)
  }
})

test('less and more time is shown around a point, never more than there is', () => {
  const whole = { from: 0, to: 1_000 }
  expect(zoomed(whole, 0.5, whole)).toEqual({ from: 250, to: 750 })
  expect(zoomed({ from: 250, to: 750 }, 10, whole)).toEqual(whole)
  expect(zoomed({ from: 0, to: 8 }, 0.1, whole)).toEqual({ from: 2, to: 6 })
  expect(panned({ from: 0, to: 100 }, -1, whole)).toEqual({ from: 0, to: 100 })
  expect(panned({ from: 0, to: 100 }, 0.5, whole)).toEqual({ from: 50, to: 150 })
})

test('a lane goes on with what the live stream tells, once', () => {
  const running = lane('a', [
    ['queued', 1],
    ['running', 2],
  ])
  const failed = laneAfter(running, { at: 3, event: 'FAIL', to: 'retrying', attempt: 1 })
  expect(failed).toMatchObject({ state: 'retrying', errors: [{ at: 3, attempt: 1 }] })
  expect(laneAfter(failed, { at: 3, event: 'FAIL', to: 'retrying', attempt: 1 })).toBe(failed)
  expect(laneAfter(failed, { at: 9, event: 'CHECKPOINT', to: 'running', attempt: 1 })).toBe(failed)
})

test('a waterfall is saved as a standalone picture', () => {
  const evil = lane(
    '</svg><script>',
    [
      ['queued', 1_200],
      ['running', 1_300],
      ['dead', 1_900],
    ],
    { errors: [{ at: 1_900, attempt: 1, text: '<b>&"' }] },
  )
  const rows = rowsOf(
    family([evil, ...many(600, (id) => ({ ...done(id), type: id }), 'x')], {
      states: [{ at: 1_000, states: 'paid', seq: 1 }],
    }),
    'root',
    none,
  )
  const svg = waterfallSvg({ rows, span: { from: 1_000, to: 2_000 }, begin: 1_000, now: 2_000 })
  const picture = parseXml(svg)
  expect(picture).toBeDefined()
  expect(svg).toMatch(/<title id="jc-title">Waterfall of root, 603 rows<\/title>/)
  expect(svg).toMatch('and 103 more rows')
  expect(svg).toMatch('jc-bar-running')
  expect(svg).toMatch('prefers-color-scheme:dark')
  expect(svg).not.toMatch('<script>')
  expect(svg).toMatch(/<tspan class="jc-type">[^<]+<\/tspan><tspan class="jc-muted" dx="6">root<\/tspan>/)
  expect(svg).toMatch(/<tspan class="jc-type jc-failed">/)
})
