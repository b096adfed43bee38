/**
 * Turns a chart into a graph for ELK and ELK's answer into places. Labels are nodes on the way, so that nothing is laid
 * over them.
 */
import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js'
import { arrowsOf, type Arrow } from './arrows.ts'
import { stateContent, type Content, type StateContentOptions } from './content.ts'
import { roundedBox, roundedPoint, type Box, type Point } from './geometry.ts'
import { rootState, statesById, transitionsInside, type ChartGraph, type ChartState } from './graph.ts'
import type { ChartLayout, PlacedDot, PlacedEdge, PlacedLabel, PlacedState } from './layout-types.ts'
import { placeHeading } from './headings.ts'
import { separate } from './regions.ts'
import { straighten } from './straighten.ts'

/** One way to lay a chart out. */
export interface Plan {
  readonly direction: 'right' | 'down'
  /** Which arrows count as backward: those that a walk from the initial state finds so, or as few as possible. */
  readonly cycles: 'DEPTH_FIRST' | 'GREEDY'
  /** Are loops drawn by ELK, or as two arrows through their label? */
  readonly loops: 'native' | 'label'
  /** Do states with states in them keep the room below their text free, so that the lines run beside it? */
  readonly roomy: boolean
  /**
   * Network simplex gives the straightest lines; its time grows with the third power of the number of nodes and bends.
   */
  readonly placement: 'NETWORK_SIMPLEX' | 'LINEAR_SEGMENTS'
  /** Is the chart cut into rows? Only one in which no arrow crosses the border of a state can be. */
  readonly wrapped: boolean
}

/** What a chart consists of, measured; the same for every plan. */
export interface Measured {
  readonly graph: ChartGraph
  readonly contents: ReadonlyMap<string, Content>
  readonly arrows: readonly Arrow[]
  readonly dots: readonly Dot[]
}

interface Dot {
  readonly id: string
  /** The compound state that starts here. */
  readonly state: string
  readonly targets: readonly string[]
}

interface MeasureOptions extends StateContentOptions {
  /** Are the actions of transitions drawn? */
  readonly actions: boolean
}

const dotSize = 10
const historySize = 26
const gap = 16

export function measure(graph: ChartGraph, options: MeasureOptions): Measured {
  const contents = new Map(
    graph.states.map((state) => {
      const inside = transitionsInside(graph, state).map((transition) => ({ transition, to: [] }))
      return [state.id, stateContent(state, inside, options)] as const
    }),
  )
  const dots = graph.states.flatMap(({ id, initial, type }, index): Dot[] =>
    initial === null || type === 'history' ? [] : [{ id: `${index}`, state: id, targets: initial.targets }],
  )
  return { graph, contents, arrows: arrowsOf(graph, options.actions), dots }
}

/** Does no arrow cross the border of a state, so that each state can be laid out alone? */
export function isLevel({ graph, arrows }: Measured): boolean {
  const states = statesById(graph)
  const liesIn = (id: string, container: string): boolean => states.get(id)?.parent === container
  const starts = graph.states.every(({ id, type, initial }) =>
    (initial?.targets ?? []).every((target) => type !== 'history' && liesIn(target, id)),
  )
  return (
    starts &&
    arrows.every(({ sources, targets, container }) => [...sources, ...targets].every((id) => liesIn(id, container)))
  )
}

function layoutOptions({ direction, cycles, placement, wrapped }: Plan): Record<string, string> {
  return {
    'elk.algorithm': 'layered',
    'elk.direction': direction === 'right' ? 'RIGHT' : 'DOWN',
    'elk.hierarchyHandling': wrapped ? 'SEPARATE_CHILDREN' : 'INCLUDE_CHILDREN',
    ...(wrapped && { 'elk.layered.wrapping.strategy': 'MULTI_EDGE', 'elk.aspectRatio': '1.5' }),
    'elk.edgeRouting': 'ORTHOGONAL',
    'elk.randomSeed': '1',
    'elk.layered.cycleBreaking.strategy': cycles,
    'elk.layered.nodePlacement.strategy': placement,
    'elk.spacing.nodeNode': '16',
    'elk.spacing.edgeNode': '16',
    'elk.spacing.edgeEdge': '12',
    'elk.spacing.nodeSelfLoop': '14',
    'elk.spacing.edgeLabel': '4',
    'elk.layered.spacing.nodeNodeBetweenLayers': '24',
    'elk.layered.spacing.edgeNodeBetweenLayers': '16',
    'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
  }
}

export function toElk(measured: Measured, plan: Plan): ElkNode {
  const states = statesById(measured.graph)
  const options = layoutOptions(plan)
  const nodes = new Map<string, ElkNode>()
  const edges: ElkExtendedEdge[] = []
  for (const state of measured.graph.states) {
    const node = stateNode(state, measured, options, plan)
    nodes.set(state.id, node)
    nodes.get(state.parent ?? '')?.children?.push(node)
  }
  for (const dot of measured.dots) {
    nodes.get(dot.state)?.children?.unshift({ id: `dot:${dot.id}`, width: dotSize, height: dotSize })
    for (const [index, target] of dot.targets.entries()) {
      edges.push({
        id: `start:${dot.id}:${index}`,
        sources: [`dot:${dot.id}`],
        targets: [`state:${target}`],
        layoutOptions: { 'elk.layered.priority.direction': '10', 'elk.layered.priority.shortness': '10' },
      })
    }
  }
  for (const { id, initial, type } of measured.graph.states) {
    if (type !== 'history') continue
    for (const [index, target] of (initial?.targets ?? []).entries()) {
      edges.push({ id: `default:${id}:${index}`, sources: [`state:${id}`], targets: [`state:${target}`] })
    }
  }
  for (const arrow of measured.arrows) edges.push(...arrowEdges(arrow, plan, nodes, states))
  const root = nodes.get(rootState(measured.graph).id)
  return {
    id: 'picture',
    layoutOptions: { ...options, 'elk.padding': '[top=8,left=8,bottom=8,right=8]' },
    children: root === undefined ? [] : [root],
    edges,
  }
}

/** The border in px that the arrows of a state need to end apart from each other; all may end at one side. */
function borderNeeded({ id }: ChartState, { arrows }: Measured): number {
  const ends = arrows.reduce(
    (sum, { sources, targets, isBundle }) =>
      sum + Number(!isBundle && sources.includes(id)) + Number(targets.includes(id)),
    0,
  )
  return Math.min(240, ends * 12 + 4)
}

function stateNode(state: ChartState, measured: Measured, options: Record<string, string>, plan: Plan): ElkNode {
  const { direction, roomy } = plan
  const content = measured.contents.get(state.id)
  const id = `state:${state.id}`
  if (state.type === 'history') return { id, width: historySize, height: historySize }
  const side = borderNeeded(state, measured)
  const width = Math.max(72, content?.width ?? 0, direction === 'down' ? side : 0)
  const height = Math.max(36, content?.height ?? 0, direction === 'right' ? side : 0)
  // Regions beside each other begin at one height, those below each other at one side.
  const isRegion = statesById(measured.graph).get(state.parent ?? '')?.type === 'parallel'
  const alignment = isRegion ? { 'elk.alignment': direction === 'down' ? 'TOP' : 'LEFT' } : {}
  if (state.children.length === 0) return { id, width, height, children: [], layoutOptions: alignment }
  return {
    id,
    children: [],
    layoutOptions: {
      ...options,
      ...alignment,
      'elk.padding': `[top=${height + 12},left=${roomy ? width : gap},bottom=${gap},right=${gap}]`,
      'elk.nodeSize.constraints': '[MINIMUM_SIZE]',
      // ELK swaps the sides of the least size where the chart leads down.
      'elk.nodeSize.minimum': direction === 'down' ? `(${height},${width})` : `(${width},${height})`,
    },
  }
}

function arrowEdges(
  arrow: Arrow,
  plan: Plan,
  nodes: ReadonlyMap<string, ElkNode>,
  states: ReadonlyMap<string, ChartState>,
): ElkExtendedEdge[] {
  const { id, sources, targets, label, container, isLoop, isBundle } = arrow
  const [source = ''] = sources
  const size = label === null ? null : { width: label.width, height: label.height }
  if (isLoop && plan.loops === 'native') {
    const labels = size === null ? [] : [{ id: `looplabel:${id}`, text: ' ', ...size }]
    return [{ id: `loop:${id}`, sources: [`state:${source}`], targets: [`state:${source}`], labels }]
  }
  const ends = targets.filter((target) => states.has(target))
  if (size === null && !isLoop) {
    return ends.map((target, index) => ({
      id: `plain:${id}:${index}`,
      sources: [`state:${source}`],
      targets: [`state:${target}`],
    }))
  }
  // All lines from several states end at one port, so that they join on their way.
  const isShared = sources.length > 1 && !isBundle
  const ports = isShared ? { ports: [{ id: `port:${id}`, width: 0, height: 0 }] } : {}
  nodes.get(container)?.children?.push({ id: `label:${id}`, ...(size ?? { width: 1, height: 1 }), ...ports })
  const tails = isBundle ? [] : sources
  return [
    ...tails.map((from, index) => ({
      id: `tail:${id}:${index}`,
      sources: [`state:${from}`],
      targets: [isShared ? `port:${id}` : `label:${id}`],
    })),
    ...ends.map((target, index) => ({
      id: `head:${id}:${index}`,
      sources: [`label:${id}`],
      targets: [`state:${target}`],
    })),
  ]
}

/** The boxes of all nodes, and the lines of all edges, relative to the picture. */
interface Absolute {
  readonly boxes: ReadonlyMap<string, Box>
  readonly loopLabels: ReadonlyMap<string, Box>
  readonly lines: readonly { readonly id: string; readonly points: readonly Point[] }[]
}

function absolute(picture: ElkNode): Absolute {
  const boxes = new Map<string, Box>()
  const loopLabels = new Map<string, Box>()
  const lines: { id: string; points: readonly Point[] }[] = []
  const place = (node: ElkNode, at: Point): void => {
    const box = { x: at.x + (node.x ?? 0), y: at.y + (node.y ?? 0), width: node.width ?? 0, height: node.height ?? 0 }
    boxes.set(node.id, roundedBox(box))
    for (const child of node.children ?? []) place(child, box)
  }
  const draw = (node: ElkNode): void => {
    for (const edge of node.edges ?? []) {
      const origin = boxes.get((edge as { container?: string }).container ?? node.id) ?? { x: 0, y: 0 }
      const shift = ({ x, y }: Point): Point => roundedPoint({ x: x + origin.x, y: y + origin.y })
      for (const { x, y, width, height, id } of edge.labels ?? []) {
        const box = { ...shift({ x: x ?? 0, y: y ?? 0 }), width: width ?? 0, height: height ?? 0 }
        loopLabels.set(id ?? '', roundedBox(box))
      }
      for (const { startPoint, bendPoints, endPoint } of edge.sections ?? []) {
        lines.push({ id: edge.id, points: [startPoint, ...(bendPoints ?? []), endPoint].map(shift) })
      }
    }
    for (const child of node.children ?? []) draw(child)
  }
  place(picture, { x: 0, y: 0 })
  draw(picture)
  return { boxes, loopLabels, lines }
}

/** ELK's answer as a layout. */
export function fromElk(picture: ElkNode, measured: Measured, plan: Plan): ChartLayout {
  const { boxes, loopLabels, lines } = absolute(picture)
  const boxOf = (id: string): Box => boxes.get(id) ?? { x: 0, y: 0, width: 0, height: 0 }
  const labels = measured.arrows.flatMap((arrow): PlacedLabel[] => {
    const { id, sources, targets, transitions, container, label } = arrow
    const box = loopLabels.get(`looplabel:${id}`) ?? boxes.get(`label:${id}`)
    return label === null || box === undefined
      ? []
      : [{ id, sources, targets, transitions, container, content: label, box }]
  })
  const dots = measured.dots.map(({ id, state }): PlacedDot => {
    const { x, y } = boxOf(`dot:${id}`)
    return { x: x + dotSize / 2, y: y + dotSize / 2, radius: dotSize / 2, state }
  })
  const empty: Content = { width: 0, height: 0, items: [], rows: [], timesY: null }
  const states = measured.graph.states.map((state): PlacedState => {
    const content = measured.contents.get(state.id) ?? empty
    return { state, box: boxOf(`state:${state.id}`), content, shift: 0, region: null }
  })
  const edges = straighten(placeEdges(lines, measured), states, labels)
  const { regions, separators } = separate(states, labels, edges)
  return {
    width: Math.ceil(picture.width ?? 0),
    height: Math.ceil(picture.height ?? 0),
    direction: plan.direction,
    graph: measured.graph,
    states: states.map((each) => ({ ...placeHeading(each, edges), region: regions.get(each.state.id) ?? null })),
    labels,
    edges,
    dots,
    separators,
    note: null,
  }
}

function placeEdges(lines: Absolute['lines'], measured: Measured): PlacedEdge[] {
  const arrows = new Map(measured.arrows.map((arrow) => [arrow.id, arrow]))
  const dots = new Map(measured.dots.map((dot) => [dot.id, dot]))
  return lines.flatMap(({ id, points }): PlacedEdge[] => {
    const kind = id.slice(0, id.indexOf(':'))
    const rest = id.slice(kind.length + 1)
    const number = kind === 'loop' ? 0 : Number(rest.slice(rest.lastIndexOf(':') + 1))
    const key = kind === 'loop' ? rest : rest.slice(0, rest.lastIndexOf(':'))
    if (kind === 'start' || kind === 'default') {
      const targets = kind === 'start' ? dots.get(key)?.targets : defaultTargets(measured.graph, key)
      const target = targets?.[number]
      const source = kind === 'start' ? null : key
      return [
        { arrow: null, transitions: [], source, targets: target === undefined ? [] : [target], isHead: true, points },
      ]
    }
    const arrow = arrows.get(key)
    if (arrow === undefined) return []
    const { transitions, sources, targets } = arrow
    const [first = null] = sources
    if (kind === 'tail') {
      const source = sources[number] ?? first
      const own = transitions.filter((each) => each.source === source)
      return [{ arrow: key, transitions: own, source, targets, isHead: false, points }]
    }
    const ends = [targets[number] ?? first].filter((each) => each !== null)
    const source = sources.length > 1 ? null : first
    return [{ arrow: key, transitions, source, targets: ends, isHead: true, points }]
  })
}

const defaultTargets = (graph: ChartGraph, id: string): readonly string[] =>
  graph.states.find((state) => state.id === id)?.initial?.targets ?? []
