/** A picture is well-formed, safe, readable without eyes, the same each time, and shows what it is told of jobs. */
import { createMachine } from 'xstate'
import { describe, expect, test } from 'vitest'
import {
  chartStyles,
  toDot,
  toGraph,
  toMermaid,
  toSvg,
  toText,
  type ChartSource,
  type SvgOptions,
} from 'jobchart/chart'
import { machines } from '../../machines/index.ts'
import { knownCharts } from './support/known-charts.ts'
import { everyElement, parseXml, withAttribute, type Element } from './support/xml.ts'

type Config = Parameters<typeof createMachine>[0]

const chart = (name: string) => knownCharts.find(({ id }) => id === name)!
const draw = async (source: ChartSource, options: SvgOptions = {}): Promise<Element> =>
  parseXml(await toSvg(source, { direction: 'right', ...options }))
const byAttribute = (root: Element, name: string, value: string): Element =>
  withAttribute(root, name).find(({ attributes }) => attributes[name] === value)!
const textOf = (element: Element): string => element.text + element.children.map(textOf).join('')

/** Texts that do harm where they are not escaped, in one format or another. */
const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onload='alert(1)",
  ']]></style><svg onload=alert(1)>',
  '</title></svg><iframe src="javascript:alert(1)">',
  '&lt;b&gt; &amp; &#x3c; &unknown;',
  'a --> b: c; d',
  '}} } end note %%{init: {}}%%',
  '"; a [URL="javascript:alert(1)"]; "',
  'back\\slash\\" and \\N \\G',
  'two\nlines\r\tand a tab',
  'null \u0000 bell \u0007 esc \u001b[31m',
  'lone \ud800 surrogate \uffff',
  '${process.env} `x` $(x) {{x}}',
  '__proto__',
  'constructor',
  'e\u0301 \u202e right to left \u200b',
]

const hostileChart = (text: string) =>
  createMachine({
    id: 'm',
    description: text,
    initial: 'a',
    states: {
      a: {
        description: text,
        tags: [text],
        entry: [text, { type: text, params: { [text]: text } }],
        invoke: { id: text, src: text, onDone: 'b' },
        on: {
          [`E ${text}`]: { target: 'b', guard: text, actions: [text], description: text },
          STAY: { actions: text },
        },
        after: { [text]: 'b' },
      },
      b: { initial: 'c', states: { c: {}, [`k ${text}`.replaceAll('.', '')]: {} } },
    },
  } as Config)

const label = "[\\p{L}\\p{M}\\p{N} _.,()\\[\\]/+=!?*'…→#;-]+"
/** All that Mermaid text may consist of: names are words, and labels hold only what cannot be read as syntax. */
const mermaidLine = new RegExp(
  `^ *(?:stateDiagram-v2|--|\\}|state "${label}" as \\w+(?: \\{)?|\\w+(?:: ${label})?|(?:\\[\\*\\]|\\w+) --> (?:\\[\\*\\]|\\w+)(?:: ${label})?)?$`,
  'u',
)

describe('escaping', () => {
  test.each(hostile.map((text, index) => [index, text] as const))(
    'hostile name %i does no harm in any format',
    async (_, text) => {
      const machine = hostileChart(text)
      const svg = await draw(machine, { title: text, counts: { a: 1 }, path: ['a', 'b'] })
      const elements = everyElement(svg)
      const known = new Set(['svg', 'title', 'desc', 'style', 'g', 'rect', 'path', 'circle', 'text'])
      expect(elements.filter(({ name }) => !known.has(name))).toEqual([])
      expect(
        elements.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => /^on|href|^style$/.test(name)),
      ).toEqual([])
      expect(
        toMermaid(machine)
          .split('\n')
          .filter((line) => !mermaidLine.test(line)),
      ).toEqual([])
      // In DOT, each quote that is not a delimiter has a backslash: without its strings nothing of a name is left.
      const outside = toDot(machine).replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""')
      expect(outside).not.toMatch(/URL|alert|proto|[<>\\](?<!->)/)
      // oxlint-disable-next-line no-control-regex -- what a terminal obeys
      expect(toText(machine)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    },
  )

  test('pictures of charts with every feature are well-formed', async () => {
    for (const machine of knownCharts.filter((_, index) => index % 4 === 2)) {
      expect((await draw(machine, { direction: 'right' })).name, machine.id).toBe('svg')
    }
  })
})

describe('what a picture says', () => {
  test('it has a title, a description and a role, and names each state and transition', async () => {
    const svg = await draw(machines.job)
    expect(svg.attributes['role']).toBe('graphics-document document')
    const [title, desc] = svg.attributes['aria-labelledby']!.split(' ')
    expect(textOf(byAttribute(svg, 'id', title!))).toBe('job: The lifecycle of a job')
    expect(textOf(byAttribute(svg, 'id', desc!))).toBe(
      'A statechart with 9 states and 25 transitions. It starts in queued. It ends in done.',
    )
    expect(withAttribute(svg, 'data-state')).toHaveLength(10)
    expect(withAttribute(svg, 'data-transition')).toHaveLength(25)
    expect(byAttribute(svg, 'data-transition', 'job.queued:CLAIM:0').attributes['aria-label']).toBe(
      'CLAIM: job.queued to job.running',
    )
  })

  test('long text is cut, and whole in a title', async () => {
    const svg = await draw(chart('names-as-long-as-they-come'))
    const cut = everyElement(svg).filter(({ name, text }) => name === 'text' && text.endsWith('…'))
    expect(cut.length).toBeGreaterThan(3)
    for (const element of cut) expect(element.children[0]!.text.startsWith(element.text.slice(0, -1))).toBe(true)
  })

  test('every feature has its sign', async () => {
    const source = await toSvg(chart('watch'))
    expect(source).toContain('>H*<')
    expect(source).toContain('>H<')
    expect(source).toContain('after 2 min')
    expect(source).toContain('class="jc-separator"')
    expect(await toSvg(chart('bulb'))).toContain('jc-icon')
    const job = await toSvg(machines.job, { direction: 'right' })
    expect(job).toContain('jc-hatch')
    expect(job).toContain('class="jc-inner"')
    expect(await toSvg(chart('fetch'))).toContain('[tooMany]')
  })

  test('every text says how wide it is, so that no font draws it over its box', async () => {
    const svg = await draw(chart('checkout'))
    const free = everyElement(svg).filter(({ name, attributes }) => name === 'text' && !('textLength' in attributes))
    expect(free.map(textOf).filter((text) => text !== 'H' && text !== 'H*')).toEqual([])
  })
})

test('the title and the ground are as they are asked for', async () => {
  const svg = await draw(machines.job, { title: 'My <jobs>', transparent: true })
  expect(textOf(svg.children[0]!)).toBe('My <jobs>')
  expect(everyElement(svg).filter(({ attributes }) => attributes['class'] === 'jc-canvas')).toEqual([])
})

test('a graph with parents in a circle does not hang, and one without what it names is refused', async () => {
  const graph = toGraph(machines.job)
  const [root, ...others] = graph.states
  const circle = { ...graph, states: [{ ...root!, parent: 'job.done' }, ...others] }
  expect((await draw(circle, { direction: 'down' })).name).toBe('svg')
  const dangling = { ...graph, states: graph.states.filter(({ key }) => key !== 'dead') }
  await expect(toSvg(dangling, { direction: 'down' })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

test('each state has the path that users know it by, whatever its id', async () => {
  const machine = createMachine({
    id: 'order',
    initial: 'open',
    states: { open: { initial: 'new', states: { new: { id: 'a.b' } } } },
  })
  const svg = await draw(machine, { counts: { 'open.new': 3 } })
  expect(byAttribute(svg, 'data-state', 'a.b').attributes['data-path']).toBe('open.new')
  expect(byAttribute(svg, 'data-state', 'order').attributes['data-path']).toBe('')
  expect(byAttribute(svg, 'data-count', 'a.b').attributes['data-path']).toBe('open.new')
})

describe('marks', () => {
  const classOf = (svg: Element, id: string): string => byAttribute(svg, 'data-state', id).attributes['class']!

  test('active states are filled with those around them, by state value, path or id', async () => {
    for (const active of [{ paying: 'card' }, ['checkout.paying.card'], ['paying.card']]) {
      const svg = await draw(chart('checkout'), { active })
      expect(classOf(svg, 'checkout.paying.card')).toContain('jc-active')
      expect(classOf(svg, 'checkout.paying')).toContain('jc-active')
      expect(classOf(svg, 'checkout.cart')).not.toContain('jc-active')
      expect(byAttribute(svg, 'data-state', 'checkout.paying.card').attributes['aria-label']).toBe(
        'card, state, active',
      )
    }
  })

  test('several regions are active at once', async () => {
    const svg = await draw(chart('text-editor'), { active: { bold: 'on', italic: 'off' } })
    expect(classOf(svg, 'text-editor.bold.on')).toContain('jc-active')
    expect(classOf(svg, 'text-editor.italic.off')).toContain('jc-active')
    expect(classOf(svg, 'text-editor.list.none')).not.toContain('jc-active')
  })

  test('counts stand in their states, short, and do not move anything when they change', async () => {
    const few = await draw(machines.job, { counts: { queued: 3, dead: 0 } })
    const many = await draw(machines.job, { counts: { queued: 1_234_567, running: 8 } })
    expect(textOf(byAttribute(few, 'data-count', 'job.queued'))).toBe('3')
    expect(textOf(byAttribute(many, 'data-count', 'job.queued'))).toBe('12345671.2M')
    expect(few.attributes['viewBox']).toBe(many.attributes['viewBox'])
  })

  test('the moves of a job are numbered on the arrows it took', async () => {
    const path = [
      { from: null, event: 'ENQUEUE', to: 'queued' },
      { from: 'queued', event: 'CLAIM', to: 'running' },
      { from: 'running', event: 'LOG', to: 'running' },
      { from: 'running', event: 'FAIL', to: 'retrying' },
      { from: 'retrying', event: 'DUE', to: 'queued' },
      { from: 'queued', event: 'CLAIM', to: 'running' },
      { from: 'running', event: 'COMPLETE', to: 'done' },
    ]
    const svg = await draw(machines.job, { path })
    const steps = everyElement(svg).filter(({ attributes }) => attributes['class'] === 'jc-step')
    expect(steps.map(textOf).toSorted()).toEqual(['1 4', '2', '3', '5'])
    expect(everyElement(svg).filter(({ attributes }) => attributes['class'] === 'jc-edge jc-taken')).toHaveLength(8)
  })

  test('a path of states finds its arrows, and one in hidden states is shown at the state that stands for them', async () => {
    const steps = (svg: Element): string[] =>
      everyElement(svg).flatMap((each) => (each.attributes['class'] === 'jc-step' ? [textOf(each)] : []))
    expect(steps(await draw(chart('checkout'), { path: ['cart', 'paying', 'cart'] })).toSorted()).toEqual(['1', '2'])
    const cut = await draw(chart('checkout'), {
      depth: 1,
      active: { paying: 'card' },
      counts: { 'paying.card': 2, 'paying.paid': 3 },
    })
    expect(classOf(cut, 'checkout.paying')).toContain('jc-active')
    expect(textOf(byAttribute(cut, 'data-count', 'checkout.paying'))).toBe('5')
  })

  test('the states of a job have the colours of their meaning, and tones give them to others', async () => {
    const job = await draw(machines.job)
    for (const tone of ['queued', 'running', 'retrying', 'waiting', 'done', 'dead', 'cancelling', 'cancelled']) {
      expect(classOf(job, `job.${tone}`)).toContain(`jc-${tone}`)
    }
    const fetch = await draw(chart('fetch'), { tones: { failure: 'retrying', 'fetch.givenUp': 'dead' } })
    expect(classOf(fetch, 'fetch.failure')).toContain('jc-retrying')
    expect(classOf(fetch, 'fetch.givenUp')).toContain('jc-dead')
  })

  test('marks that make no sense are refused', async () => {
    const wrong = [
      { counts: { queued: Number.NaN } },
      { tones: { queued: 'pink' as never } },
      { theme: 'sepia' as never },
    ]
    for (const options of wrong) {
      await expect(toSvg(machines.job, options)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    }
  })
})

describe('themes', () => {
  test('the themes differ in their colours only', async () => {
    const strip = (svg: string): string =>
      svg.replace(/<style>.*<\/style>/s, '').replaceAll(/jobchart-(light|dark|auto)/g, '')
    const [light, dark, auto] = await Promise.all(
      (['light', 'dark', 'auto'] as const).map((theme) => toSvg(machines.job, { theme, direction: 'right' })),
    )
    expect(strip(dark!)).toBe(strip(light!))
    expect(strip(auto!)).toBe(strip(light!))
    expect(auto).toContain('prefers-color-scheme:dark')
  })

  test('a picture without styles has none, nor anything that a content security policy forbids', async () => {
    const bare = await toSvg(machines.job, { style: 'none', direction: 'right' })
    expect(bare).not.toMatch(/<style| style=|<script/)
    expect(chartStyles('auto')).toContain('.jobchart-auto')
  })

  test('every text is readable on its ground: contrast 4.5 at least', () => {
    for (const theme of ['light', 'dark'] as const) {
      const colours = Object.fromEntries(
        [...chartStyles(theme).matchAll(/--jc-([a-z-]+):(#[0-9a-f]{6})/g)].map(([, name, value]) => [name!, value!]),
      )
      const pairs = Object.keys(colours).flatMap((name): [string, string][] =>
        name.endsWith('-ink')
          ? [
              [name, name.replace('-ink', '-fill')],
              [name, 'inverse'],
            ]
          : [],
      )
      pairs.push(
        ['ink', 'surface'],
        ['ink', 'group'],
        ['ink', 'label'],
        ['muted', 'label'],
        ['muted', 'group'],
        ['accent', 'inverse'],
      )
      const poor = pairs.filter(([a, b]) => contrast(colours[a]!, colours[b]!) < 4.5)
      expect(poor, theme).toEqual([])
    }
  })
})

/** The contrast of two colours as WCAG has it. */
function contrast(a: string, b: string): number {
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255
      return share <= 0.039_28 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y)
  return (lighter + 0.05) / (darker + 0.05)
}

test('the same chart gives the same picture, to the letter', async () => {
  expect(await toSvg(chart('watch'))).toBe(await toSvg(chart('watch')))
})

test('no text of a picture is smaller than 10.5 px', () => {
  const sizes = [...chartStyles('auto').matchAll(/font-size:([\d.]+)px/g)].map(([, size]) => Number(size))
  expect(sizes.length).toBeGreaterThan(5)
  expect(sizes.filter((size) => size < 10.5)).toEqual([])
})
