/**
 * The layout that is always there, in a time that grows with the number of states: boxes in rows, transitions written
 * in their states.
 */
import { stateContent, type Content, type WrittenTransition } from './content.ts'
import { roundedBox, type Box, type Point } from './geometry.ts'
import { statesById, type ChartGraph, type ChartState } from './graph.ts'
import type { ChartLayout, PlacedDot, PlacedEdge, PlacedState } from './layout-types.ts'

interface ListOptions {
  readonly tags: boolean
  readonly counted: boolean
  readonly timed: boolean
}

interface Block {
  readonly state: ChartState
  readonly content: Content
  readonly width: number
  readonly height: number
  readonly inner: readonly { readonly block: Block; readonly at: Point; readonly isStart: boolean }[]
}

const gap = 16
const dotRadius = 5
/** Room in px before the state in which another one starts, for the dot and its arrow. */
const startRoom = 32
/** More transitions than this are told as a number. */
const writtenMax = 12
/** How much wider than high a block of states is made, between these widths in px. */
const shape = 1.4
const widthMin = 640
const widthMax = 1_440

export function listLayout(graph: ChartGraph, options: ListOptions): ChartLayout {
  const states = statesById(graph)
  const nameOf = (id: string): string => states.get(id)?.key ?? id
  const written = new Map<string, WrittenTransition[]>()
  for (const transition of graph.transitions) {
    const list = written.get(transition.source) ?? []
    written.set(transition.source, list)
    list.push({ transition, to: transition.targets.map(nameOf) })
  }
  const blocks = new Map<string, Block>()
  // Inner states come after those around them.
  for (const state of graph.states.toReversed()) {
    const own = written.get(state.id) ?? []
    const leftOut = Math.max(0, own.length - writtenMax)
    const content = stateContent(state, own.slice(0, writtenMax), { ...options, leftOut })
    const children = state.children.flatMap((id) => blocks.get(id) ?? [])
    blocks.set(state.id, state.type === 'history' ? historyBlock(state, content) : inRows(state, content, children))
  }
  const [root] = graph.states
  const block = root === undefined ? undefined : blocks.get(root.id)
  const picture = new Picture(states)
  if (block !== undefined) picture.add(block, { x: 8, y: 8 })
  return {
    width: Math.ceil((block?.width ?? 0) + 16),
    height: Math.ceil((block?.height ?? 0) + 16),
    direction: 'right',
    graph,
    states: picture.states,
    labels: [],
    edges: picture.edges,
    dots: picture.dots,
    separators: [],
    note: null,
  }
}

const historySize = 26
const historyBlock = (state: ChartState, content: Content): Block => ({
  state,
  content,
  width: historySize,
  height: historySize,
  inner: [],
})

function inRows(state: ChartState, content: Content, children: readonly Block[]): Block {
  const width = Math.max(72, content.width)
  if (children.length === 0) return { state, content, width, height: Math.max(36, content.height), inner: [] }
  const area = children.reduce((sum, each) => sum + (each.width + gap) * (each.height + gap), 0)
  const widestChild = children.reduce((widest, each) => Math.max(widest, each.width), 0)
  const rowMax = Math.max(Math.min(widthMax, Math.max(widthMin, Math.sqrt(area) * shape)), widestChild + startRoom)
  const starts = new Set(state.initial?.targets)
  const inner: Block['inner'][number][] = []
  let [x, y, rowHeight, end] = [gap, Math.max(36, content.height) + 12, 0, 0]
  for (const block of children) {
    const isStart = starts.has(block.state.id)
    const room = isStart ? startRoom : 0
    if (x > gap && x + room + block.width > rowMax) {
      x = gap
      y += rowHeight + gap
      rowHeight = 0
    }
    inner.push({ block, at: { x: x + room, y }, isStart })
    x += room + block.width + gap
    rowHeight = Math.max(rowHeight, block.height)
    end = Math.max(end, x)
  }
  return { state, content, width: Math.max(width, end), height: y + rowHeight + gap, inner }
}

class Picture {
  readonly states: PlacedState[] = []
  readonly edges: PlacedEdge[] = []
  readonly dots: PlacedDot[] = []
  readonly #byId: ReadonlyMap<string, ChartState>
  constructor(byId: ReadonlyMap<string, ChartState>) {
    this.#byId = byId
  }

  add({ state, content, width, height, inner }: Block, at: Point): void {
    const box: Box = roundedBox({ ...at, width, height })
    const isRegion = this.#byId.get(state.parent ?? '')?.type === 'parallel'
    this.states.push({ state, box, content, shift: 0, region: isRegion ? 'boxed' : null })
    for (const { block, at: place, isStart } of inner) {
      const corner = { x: box.x + place.x, y: box.y + place.y }
      if (isStart) this.#start(state.id, block.state.id, { x: corner.x, y: corner.y + 18 })
      this.add(block, corner)
    }
  }

  #start(state: string, target: string, end: Point): void {
    const x = end.x - startRoom + gap / 2 + dotRadius
    this.dots.push({ x, y: end.y, radius: dotRadius, state })
    const points = [{ x: x + dotRadius, y: end.y }, end]
    this.edges.push({ arrow: null, transitions: [], source: null, targets: [target], isHead: true, points })
  }
}
